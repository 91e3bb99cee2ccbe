package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// prompt is the body of a chat request, as far as it matters here.
type prompt struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type message struct {
	Role       string           `json:"role"`
	Content    *json.RawMessage `json:"content"`
	ToolCallID string           `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string  `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// text is the content as text; parts of a list are joined.
func (m message) text() string {
	if m.Content == nil {
		return ""
	}
	var s string
	if json.Unmarshal(*m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(*m.Content, &parts)
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// lastUser returns the place of the last user message, -1 when there is none.
func (p *prompt) lastUser() int {
	for i, m := range slices.Backward(p.Messages) {
		if m.Role == "user" {
			return i
		}
	}
	return -1
}

func (p *prompt) userText() string {
	if i := p.lastUser(); i >= 0 {
		return p.Messages[i].text()
	}
	return ""
}

// round is the number of the reply of a turn that comes next: of those before,
// each assistant message since the last user message played one.
func (p *prompt) round(replies []Reply) (int, error) {
	n, times := 0, 0
	for i := p.lastUser() + 1; i < len(p.Messages); i++ {
		if p.Messages[i].Role != "assistant" {
			continue
		}
		times++
		again := false
		if n < len(replies) && replies[n].Until != nil {
			var err error
			if again, err = p.again(*replies[n].Until, i+1, times); err != nil {
				return 0, err
			}
		}
		if !again {
			n, times = n+1, 0
		}
	}
	return n, nil
}

// again says whether a reply that was played some times is played once more.
// begin is the place of the first message after it.
func (p *prompt) again(u Until, begin, times int) (bool, error) {
	end := begin
	for end < len(p.Messages) && p.Messages[end].Role == "tool" {
		end++
	}
	result, ok := resultIn(p.Messages[:end], u.Tool)
	if !ok {
		return false, fmt.Errorf("until: the conversation has no result of tool %q", u.Tool)
	}
	value, err := valueAt(result, u.Path)
	if err != nil {
		return false, fmt.Errorf("until: %w", err)
	}
	return value != u.Is && times < u.AtMost, nil
}

// result returns the content of the latest result of a tool.
func (p *prompt) result(tool string) (string, bool) { return resultIn(p.Messages, tool) }

func resultIn(messages []message, tool string) (string, bool) {
	names := make(map[string]string)
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Function.Name
		}
	}
	for _, m := range slices.Backward(messages) {
		if m.Role == "tool" && names[m.ToolCallID] == tool {
			return m.text(), true
		}
	}
	return "", false
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// check refuses what strict providers refuse.
func (p *prompt) check() error {
	if len(p.Messages) == 0 {
		return errors.New("messages: is empty")
	}
	for i, t := range p.Tools {
		if !toolName.MatchString(t.Function.Name) {
			return fmt.Errorf("tools[%d].function.name: %q does not match %s", i, t.Function.Name, toolName)
		}
		var schema map[string]any
		if json.Unmarshal(t.Function.Parameters, &schema) != nil || schema["type"] != "object" {
			return fmt.Errorf("tools[%d].function.parameters: want a JSON Schema of type object", i)
		}
	}
	open := map[string]bool{} // calls that wait for their result
	for i, m := range p.Messages {
		if err := m.check(open); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return unanswered(open)
}

func (m message) check(open map[string]bool) error {
	hasContent := m.Content != nil && string(*m.Content) != "null"
	switch m.Role {
	case "tool":
		if !open[m.ToolCallID] {
			return fmt.Errorf("tool_call_id %q answers no open tool call", m.ToolCallID)
		}
		delete(open, m.ToolCallID)
	case "assistant", "user", "system", "developer":
		if err := unanswered(open); err != nil {
			return err
		}
	default:
		return fmt.Errorf("role %q is unknown", m.Role)
	}
	if !hasContent && len(m.ToolCalls) == 0 {
		return errors.New("content is missing")
	}
	for j, c := range m.ToolCalls {
		if c.ID == "" || open[c.ID] {
			return fmt.Errorf("tool_calls[%d].id %q is empty or used twice", j, c.ID)
		}
		if c.Function.Arguments == nil || !json.Valid([]byte(*c.Function.Arguments)) {
			return fmt.Errorf("tool_calls[%d].function.arguments is not JSON", j)
		}
		open[c.ID] = true
	}
	return nil
}

// unanswered refuses a history in which a call has no result.
func unanswered(open map[string]bool) error {
	for id := range open {
		return fmt.Errorf("tool call %q has no result before the next message", id)
	}
	return nil
}

// matches reports whether the condition holds for the nth request.
func (c Condition) matches(p *prompt, nth int) bool {
	return (c.UserContains == "" || strings.Contains(strings.ToLower(p.userText()), strings.ToLower(c.UserContains))) &&
		(c.LastRole == "" || len(p.Messages) > 0 && p.Messages[len(p.Messages)-1].Role == c.LastRole) &&
		(c.Model == "" || c.Model == p.Model) &&
		(c.Request == 0 || c.Request == nth)
}

// choose returns the reply to p.
func (s Script) choose(p *prompt, nth int) (Reply, error) {
	for t, turn := range s.Turns {
		if !turn.When.matches(p, nth) {
			continue
		}
		n, err := p.round(turn.Replies)
		if err != nil {
			return Reply{}, fmt.Errorf("turns[%d]: %w", t, err)
		}
		if n >= len(turn.Replies) {
			if !turn.Repeat {
				return Reply{}, fmt.Errorf("turns[%d] has %d replies; the conversation asks for number %d (set repeat: true to play the last one again)", t, len(turn.Replies), n+1)
			}
			n = len(turn.Replies) - 1
		}
		return turn.Replies[n], nil
	}
	return Reply{}, fmt.Errorf("no turn of the script matches request %d: last user message %.200q", nth, p.userText())
}
