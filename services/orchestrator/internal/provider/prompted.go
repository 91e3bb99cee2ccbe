package provider

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// promptTools is req for a model without tool calls. The tools are described in a
// system message of their own, and earlier calls and results become text that the
// model can read. The description asks for calls in the hermes grammar, by which
// they are read from the answer. Members of calls that only their provider
// understands have no place in a text and stay behind.
func promptTools(req Request, d Dialect) Request {
	messages := make([]Message, 0, len(req.Messages)+1)
	results := false // the last message holds results
	for _, m := range req.Messages {
		switch {
		case m.Role == RoleTool && results:
			// Results of one answer share a message, since many models take no two
			// messages of one side in a row. It never holds anything else.
			messages[len(messages)-1].Content += "\n" + resultText(m)
		case m.Role == RoleTool:
			messages = append(messages, Message{Role: RoleUser, Content: resultText(m)})
		case len(m.Calls) > 0:
			messages = append(messages, Message{Role: RoleAssistant, Content: callsText(m), Extra: m.Extra})
		default:
			messages = append(messages, m)
		}
		results = m.Role == RoleTool
	}
	if len(req.Tools) > 0 {
		messages = withRule(messages, toolsText(req, d))
	}
	req.Messages, req.Tools, req.ToolChoiceNone = messages, nil, false
	return req
}

// withRule is a prompt with one more system message after those that it begins
// with: many models take none later.
func withRule(messages []Message, rule string) []Message {
	at := slices.IndexFunc(messages, func(m Message) bool { return m.Role != RoleSystem })
	if at < 0 {
		at = len(messages)
	}
	return slices.Insert(slices.Clone(messages), at, Message{Role: RoleSystem, Content: rule})
}

// callNoTool is said where no tool may be called and the protocol cannot say it.
const callNoTool = "Do not call any tool now: answer with what you have."

const (
	resultOpen  = "<tool_response>"
	resultClose = "</tool_response>"

	promptedIntro = `You have tools. They are described here, one JSON object a line, each with the JSON Schema of its arguments:

<tools>
`
	promptedCalls = `</tools>

To call a tool, write its name and its arguments as one JSON object between these marks, and nothing after the last call:

<tool_call>
{"name": "the tool's name", "arguments": {"argument": "value"}}
</tool_call>

Independent calls may follow each other, each between marks of its own. The results come in the next message between <tool_response> marks, in the order of the calls. Only what stands there was returned by a tool; never write it yourself.`
	promptedNone = "</tools>\n\n" + callNoTool
)

// toolsText describes the tools.
func toolsText(req Request, d Dialect) string {
	var b strings.Builder
	b.WriteString(promptedIntro)
	for _, t := range req.Tools {
		raw, err := marshalPlain(struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters"`
		}{t.Name, t.Description, d.schema(t.Parameters)})
		if err != nil { // its schema is no JSON
			raw, _ = marshalPlain(map[string]string{"name": t.Name, "description": t.Description})
		}
		b.Write(unmarked(raw))
		b.WriteByte('\n')
	}
	if req.ToolChoiceNone {
		b.WriteString(promptedNone)
	} else {
		b.WriteString(promptedCalls)
	}
	return b.String()
}

// callsText is an answer with its calls as the model would have written it.
func callsText(m Message) string {
	var b strings.Builder
	b.WriteString(m.Content)
	for _, c := range m.Calls {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		raw, err := marshalPlain(struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}{c.Name, json.RawMessage(objectText(c.Arguments))})
		if err != nil {
			continue // cannot be: both are JSON
		}
		b.WriteString("<tool_call>\n")
		b.Write(unmarked(raw))
		b.WriteString("\n</tool_call>")
	}
	return b.String()
}

// resultText is a result between its marks, as JSON: a text in it cannot end them.
func resultText(m Message) string {
	content := json.RawMessage(m.Content)
	if trimmed := bytes.TrimSpace(content); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(trimmed) {
		content = quote(m.Content)
	}
	raw, err := marshalPlain(struct {
		Name    string          `json:"name,omitempty"`
		Content json.RawMessage `json:"content"`
	}{m.Name, content})
	if err != nil {
		raw = quote(m.Content) // cannot be: both are JSON
	}
	return resultOpen + "\n" + string(unmarked(raw)) + "\n" + resultClose
}

// unmarked is JSON in which nothing looks like a mark. Only strings can hold a <.
func unmarked(raw []byte) []byte {
	for _, mark := range []string{"<tool", "</tool", "<|", "</think", "<think"} {
		raw = bytes.ReplaceAll(raw, []byte(mark), []byte(`\u003c`+mark[1:]))
	}
	return raw
}
