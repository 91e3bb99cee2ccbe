package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// modelAlias is the model name that go-openai is shown: it refuses requests by
// model name, also for names that a relay only happens to share. The real name
// is set in rewriteBody.
const modelAlias = "nanoclaw"

// emptySchema is the schema of a tool without parameters.
const emptySchema = `{"type":"object","properties":{}}`

// wireRequest is req in go-openai's types. What they cannot carry is added by
// rewriteBody.
func wireRequest(req Request) openai.ChatCompletionRequest {
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
		schema := t.Parameters
		if len(bytes.TrimSpace(schema)) == 0 {
			schema = json.RawMessage(emptySchema)
		}
		out.Tools = append(out.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: schema},
		})
	}
	if req.ToolChoiceNone && len(req.Tools) > 0 {
		out.ToolChoice = "none"
	}
	return out
}

// rewriteBody mends what go-openai's encoding loses (see the wire facts in the
// functions below) and applies what the endpoint was found not to accept.
func rewriteBody(body []byte, model string, req Request, c concessions) ([]byte, error) {
	var top map[string]json.RawMessage
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		return nil, fmt.Errorf("rewrite request: %w", err)
	}
	if err := json.Unmarshal(top["messages"], &messages); err != nil && len(req.Messages) > 0 {
		return nil, fmt.Errorf("rewrite messages: %w", err)
	}
	for i := range messages {
		if err := rewriteMessage(messages[i], req.Messages[i]); err != nil {
			return nil, fmt.Errorf("rewrite message %d: %w", i, err)
		}
	}
	if messages == nil {
		messages = []map[string]json.RawMessage{}
	}
	if err := set(top, "messages", messages); err != nil {
		return nil, err
	}
	if err := set(top, "model", model); err != nil {
		return nil, err
	}
	if req.Temperature != nil && !c.noTemperature {
		if err := set(top, "temperature", *req.Temperature); err != nil {
			return nil, err
		}
	}
	if c.noUsage {
		delete(top, "stream_options")
	}
	if limit, ok := top["max_tokens"]; ok && c.completionTokens {
		top["max_completion_tokens"] = limit
		delete(top, "max_tokens")
	}
	return marshalPlain(top)
}

// rewriteMessage mends one message. Content is always present, null beside
// calls: servers refuse a message without it. Reasoning goes back under the
// name it came by, even when it is empty, on messages with calls (qwen-code#3578).
func rewriteMessage(wire map[string]json.RawMessage, m Message) error {
	switch {
	case m.Content != "":
	case m.Role == RoleAssistant && len(m.Calls) > 0:
		wire["content"] = json.RawMessage("null")
	default:
		wire["content"] = json.RawMessage(`""`)
	}
	if len(m.Calls) > 0 {
		if err := set(wire, "tool_calls", wireHistory(m.Calls)); err != nil {
			return err
		}
		if m.ReasoningField != "" {
			if err := set(wire, m.ReasoningField, m.Reasoning); err != nil {
				return err
			}
		}
	}
	merge(wire, m.Extra)
	return nil
}

// wireHistory writes the calls of an earlier answer. Arguments are always
// valid JSON: servers refuse "" (vllm#19419), and one broken call would poison
// every later request (pydantic-ai#7060). Unknown members go back verbatim.
func wireHistory(calls []Call) []map[string]json.RawMessage {
	out := make([]map[string]json.RawMessage, 0, len(calls))
	for _, c := range calls {
		args := strings.TrimSpace(c.Arguments)
		if !strings.HasPrefix(args, "{") || !json.Valid([]byte(args)) {
			args = "{}"
		}
		var extra, fnExtra map[string]json.RawMessage
		_ = json.Unmarshal(c.Extra, &extra)
		_ = json.Unmarshal(extra["function"], &fnExtra)
		fn := map[string]json.RawMessage{"name": quote(c.Name), "arguments": quote(args)}
		addMissing(fn, fnExtra)
		wire := map[string]json.RawMessage{"id": quote(c.ID), "type": quote("function")}
		wire["function"] = encodeVerbatim(fn)
		addMissing(wire, extra)
		out = append(out, wire)
	}
	return out
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
