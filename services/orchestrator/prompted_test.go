package orchestrator

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// promptedModel knows no tool calls: it writes one into its text, reads the result
// in the next message, and at last answers. It is lost when it is sent tools.
const promptedModel = `
model: scripted-text
chunk: 5
turns:
  - when: {user_contains: "tool_response"}
    replies: [{steps: [{text: "The tool said it."}]}]
  - replies:
      - steps:
          - text: "I ask.\n<tool_call>\n{\"name\": \"count\", \"arguments\": {\"text\": \"geese\"}}\n</tool_call>"
`

func TestAModelWithoutToolCallsWorksWithTools(t *testing.T) {
	w := newWorld(t, promptedModel, func(b *bed) {
		b.cfg.Models[0].ToolMode = "prompted"
	})
	_, stream := w.live(w.conversation(), "how many?")
	var text, calls, results []string
	finish := ""
	for _, e := range drain(t, stream) {
		if m := e.GetMessage(); m != nil {
			text = append(text, m.Content)
		}
		for _, c := range e.GetToolCall().GetCalls() {
			calls = append(calls, c.Function.Name+c.Function.Arguments)
		}
		for _, r := range e.GetToolResult().GetResults() {
			results = append(results, r.Content)
		}
		if d := e.GetDone(); d != nil {
			finish = d.FinishReason
		}
	}
	if !slices.Equal(calls, []string{`count{"text":"geese"}`}) || len(results) != 1 || finish != "stop" {
		t.Errorf("calls %q, results %q, finish %q", calls, results, finish)
	}
	if all := strings.Join(text, ""); strings.Contains(all, "tool_call") || !strings.Contains(all, "The tool said it.") {
		t.Errorf("text %q", all)
	}
	requests := w.model.Requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests", len(requests))
	}
	for _, r := range requests {
		var body struct {
			Tools    json.RawMessage `json:"tools"`
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, m := range body.Messages {
			if m.Role == "system" && strings.Contains(m.Content, `"name":"count"`) {
				told++
			}
		}
		if body.Tools != nil || told != 1 {
			t.Errorf("tools %s, told of in %d messages", body.Tools, told)
		}
	}
}
