package provider

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// modelAlias is the model name that go-openai is shown: it refuses requests by
// model name, also for names that a relay only happens to share. The real name
// is set in rewriteBody.
const modelAlias = "nanoclaw"

// wiring is how one client writes its requests.
type wiring struct {
	model    string
	profile  Profile
	thinking Thinking
	sign     bool // calls without a signature get the profile's word for one
}

// request is req in go-openai's types. What they cannot carry is added by
// rewrite.
func (w wiring) request(req Request) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{
		Model:  modelAlias,
		Stream: true,
		//lint:ignore SA1019 most providers know only this name; a refusal of it is answered with the new one
		MaxTokens:     req.MaxTokens,
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	}
	for _, m := range req.Messages {
		msg := openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, Name: m.Name, ToolCallID: m.CallID}
		for _, c := range m.Calls {
			msg.ToolCalls = append(msg.ToolCalls, openai.ToolCall{
				ID: c.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: c.Name, Arguments: c.Arguments},
			})
		}
		out.Messages = append(out.Messages, msg)
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: w.profile.Schemas.schema(t.Parameters)},
		})
	}
	if req.ToolChoiceNone && len(req.Tools) > 0 {
		out.ToolChoice = "none"
	}
	return out
}

// rewrite mends what go-openai's encoding loses (see the wire facts in the
// functions below), and applies the profile and what the endpoint was found not
// to accept.
func (w wiring) rewrite(body []byte, req Request, c concessions) ([]byte, error) {
	var top map[string]json.RawMessage
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		return nil, fmt.Errorf("rewrite request: %w", err)
	}
	if err := json.Unmarshal(top["messages"], &messages); err != nil && len(req.Messages) > 0 {
		return nil, fmt.Errorf("rewrite messages: %w", err)
	}
	w.sign = c.sign
	for i := range messages {
		if err := w.message(messages[i], req.Messages[i]); err != nil {
			return nil, fmt.Errorf("rewrite message %d: %w", i, err)
		}
	}
	if messages == nil {
		messages = []map[string]json.RawMessage{}
	}
	if err := set(top, "messages", messages); err != nil {
		return nil, err
	}
	if err := set(top, "model", w.model); err != nil {
		return nil, err
	}
	if req.Temperature != nil {
		if err := set(top, "temperature", *req.Temperature); err != nil {
			return nil, err
		}
	}
	w.members(top, len(req.Tools) > 0)
	c.apply(top)
	return marshalPlain(top)
}

// members gives the request the members that the profile wants, and takes those
// that its endpoint does not know.
func (w wiring) members(top map[string]json.RawMessage, tools bool) {
	p := w.profile
	if p.NoUsage {
		delete(top, "stream_options")
	}
	if p.NoToolChoice {
		delete(top, "tool_choice")
	}
	if limit, ok := top[lengthMember]; ok && p.MaxTokens != "" {
		delete(top, lengthMember)
		top[p.MaxTokens] = limit
	}
	if tools {
		if p.ParallelCalls {
			top["parallel_tool_calls"] = json.RawMessage("true")
		}
		merge(top, json.RawMessage(p.ToolBody))
	}
	merge(top, json.RawMessage(p.thinking(w.thinking)))
	merge(top, json.RawMessage(p.Body))
}

// message mends one message. Content is always present, null beside calls:
// servers refuse a message without it. Reasoning goes back under the name it came
// by, even when it is empty, on messages with calls (qwen-code#3578).
func (w wiring) message(wire map[string]json.RawMessage, m Message) error {
	switch {
	case m.Content != "":
	case m.Role == RoleAssistant && len(m.Calls) > 0:
		wire["content"] = json.RawMessage("null")
	default:
		wire["content"] = json.RawMessage(`""`)
	}
	if len(m.Calls) > 0 {
		if err := set(wire, "tool_calls", w.history(m.Calls)); err != nil {
			return err
		}
		if field, text := w.reasoning(m); field != "" {
			if err := set(wire, field, text); err != nil {
				return err
			}
		}
	}
	merge(wire, m.Extra)
	return nil
}

// noReasoning stands for the thoughts of an answer that came without any: some
// endpoints take an empty text for none.
const noReasoning = " "

// reasoning is what goes back of the thoughts of an answer with calls, and under
// which name; no name: nothing does.
func (w wiring) reasoning(m Message) (field, text string) {
	demanded := w.profile.ReasoningField
	switch {
	case w.profile.KeepsReasoning:
		return "", ""
	case demanded == "" || w.thinking == ThinkingOff:
		return m.ReasoningField, m.Reasoning
	}
	return demanded, cmp.Or(m.Reasoning, noReasoning)
}

// history writes the calls of an earlier answer. Arguments are always
// valid JSON: servers refuse "" (vllm#19419), and one broken call would poison
// every later request (pydantic-ai#7060). Unknown members go back verbatim.
func (w wiring) history(calls []Call) []map[string]json.RawMessage {
	out := make([]map[string]json.RawMessage, 0, len(calls))
	bare := !slices.ContainsFunc(calls, func(c Call) bool { return len(c.Extra) > 0 })
	for i, c := range calls {
		args := objectText(c.Arguments)
		var extra, fnExtra map[string]json.RawMessage
		_ = json.Unmarshal(c.Extra, &extra)
		_ = json.Unmarshal(extra["function"], &fnExtra)
		fn := map[string]json.RawMessage{"name": quote(c.Name), "arguments": quote(args)}
		addMissing(fn, fnExtra)
		wire := map[string]json.RawMessage{"id": quote(c.ID), "type": quote("function")}
		wire["function"] = encodeVerbatim(fn)
		addMissing(wire, extra)
		if w.sign && i == 0 && bare {
			merge(wire, json.RawMessage(w.profile.CallMembers))
		}
		out = append(out, wire)
	}
	return out
}

// objectText is a JSON object as it was written, and an empty one for anything
// else.
func objectText(s string) string {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") || !json.Valid([]byte(s)) {
		return "{}"
	}
	return s
}

// merge adds the members of a JSON object that are not there yet.
func merge(into map[string]json.RawMessage, object json.RawMessage) {
	var members map[string]json.RawMessage
	if len(object) > 0 && json.Unmarshal(object, &members) == nil {
		addMissing(into, members)
	}
}

func addMissing(into, members map[string]json.RawMessage) {
	for name, value := range members {
		if _, taken := into[name]; !taken {
			into[name] = value
		}
	}
}

func set(into map[string]json.RawMessage, name string, value any) error {
	raw, err := marshalPlain(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	into[name] = raw
	return nil
}

// quote encodes a string; that cannot fail.
func quote(s string) json.RawMessage {
	raw, _ := marshalPlain(s)
	return raw
}
