package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/internal/modelserver"
)

// play starts a scripted endpoint and returns a client for it.
func play(t *testing.T, script string) (*Client, *modelserver.Running) {
	t.Helper()
	s, err := modelserver.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	r, err := modelserver.Listen("127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return newTestClient(t, Config{APIURL: r.URL}), r
}

func TestAConversationWithToolsGoesThroughTheRealProtocol(t *testing.T) {
	c, _ := play(t, `
model: story
chunk: 4
turns:
  - replies:
      - steps:
          - reasoning: "let me see"
          - text: "Looking."
          - call: {name: web_search, arguments: {query: "{{user}}"}}
          - call: {name: now, arguments: ""}
      - steps:
          - text: "It is {{result web_search results.0.title}} at {{result now}}."
        usage: {prompt_tokens: 40, completion_tokens: 6}`)
	req := Request{
		Messages: []Message{{Role: RoleSystem, Content: "be brief"}, {Role: RoleUser, Content: "geese?"}},
		Tools:    []ToolSpec{{Name: "web_search", Description: "searches"}, {Name: "now"}},
	}
	first, deltas, err := ask(c, req)
	if err != nil {
		t.Fatal(err)
	}
	wantCalls := []Call{
		{ID: "call00200", Name: "web_search", Arguments: `{"query":"geese?"}`},
		{ID: "call00201", Name: "now", Arguments: `{}`},
	}
	if diff := cmp.Diff(wantCalls, first.Calls); diff != "" {
		t.Fatalf("calls (-want +got):\n%s", diff)
	}
	if first.Text != "Looking." || first.Reasoning != "let me see" || first.Model != "scripted-story" || first.Usage.Estimated {
		t.Errorf("response %+v", first)
	}
	var kinds []DeltaKind
	for _, d := range deltas {
		kinds = append(kinds, d.Kind)
	}
	if diff := cmp.Diff([]DeltaKind{
		Reasoning, Reasoning, Reasoning, Text, Text, // 10 and 8 characters in pieces of 4
		CallPiece, CallPiece, CallPiece, CallPiece, CallPiece, CallPiece, CallPiece, // a call of 18 characters, a call of none
	}, kinds); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}

	req.Messages = append(req.Messages,
		Message{Role: RoleAssistant, Content: first.Text, Calls: first.Calls, Reasoning: first.Reasoning, ReasoningField: first.ReasoningField},
		Message{Role: RoleTool, CallID: first.Calls[0].ID, Content: `{"results":[{"title":"Goose"}]}`},
		Message{Role: RoleTool, CallID: first.Calls[1].ID, Content: "noon"})
	second, _, err := ask(c, req)
	if err != nil {
		t.Fatal(err)
	}
	want := Response{
		Text: "It is Goose at noon.", Finish: FinishStop, Usage: Usage{InputTokens: 40, OutputTokens: 6},
		Model: "scripted-story", RequestID: "chatcmpl-scripted-5",
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestACutConnectionIsATruncatedAnswerWhereverItIsCut(t *testing.T) {
	c, _ := play(t, `
turns:
  - when: {user_contains: hello}
    replies: [{steps: [{text: "half an ans"}, {cut: true}]}]`)
	resp, _, err := ask(c, hello)
	if e := asError(t, err); e.Kind != KindTruncated || !e.Retryable() || resp.Text != "half an ans" {
		t.Errorf("kind %s, text %q", e.Kind, resp.Text)
	}
}
