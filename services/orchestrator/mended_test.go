package orchestrator

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/tooltest"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// brokenArguments is a model that writes arguments as models do. Its second
// answer comes only when the history it is sent is valid.
const brokenArguments = `
model: scripted-broken
turns:
  - replies:
      - steps:
          - call: {name: "reads", arguments: "{text:'guessed',}"}
          - call: {name: "reads", arguments: "{\"text\":\"a\",\"text\":\"b\"}"}
          - call: {name: "writes", arguments: "` + "```json\\n{\\\"text\\\":\\\"unwrapped\\\"}\\n```" + `"}
          - call: {name: "writes", arguments: "{text:'not guessed'}"}
      - steps: [{text: "Done."}]
`

func TestBrokenArgumentsAreReadAndOnlyGuessedAtForToolsThatRead(t *testing.T) {
	var mu sync.Mutex
	var called []string
	w := newWorld(t, brokenArguments, func(b *bed) {
		p := tooltest.Provider(t)
		for _, name := range []string{"reads", "writes"} {
			tool := tooltest.Tool(name)
			if tool.Sink = "read"; name == "writes" {
				tool.Sink = "write"
			}
			tooltest.Add(t, p, tool, func(_ context.Context, _ *toolkit.Call, in tooltest.Input) (toolkit.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				called = append(called, name+" "+in.Text)
				return toolkit.JSON(map[string]any{"success": true}), nil
			})
		}
		b.deps.Providers = append(b.deps.Providers, Provider{Name: "desk", Conn: tooltest.Conn(t, p)})
		b.cfg.Tools.Enabled = append(b.cfg.Tools.Enabled, "reads", "writes")
		b.cfg.Tools.AutoApprove = append(b.cfg.Tools.AutoApprove, "writes")
	})
	_, stream := w.live(w.conversation(), "go on")
	var shown, results []string
	finish := ""
	for _, e := range drain(t, stream) {
		for _, c := range e.GetToolCall().GetCalls() {
			shown = append(shown, c.Function.Arguments)
		}
		for _, r := range e.GetToolResult().GetResults() {
			results = append(results, r.Content)
		}
		if d := e.GetDone(); d != nil {
			finish = d.FinishReason
		}
	}
	slices.Sort(called)
	if !slices.Equal(called, []string{"reads guessed", "writes unwrapped"}) || finish != "stop" {
		t.Errorf("called %q, finish %q", called, finish)
	}
	if len(shown) != 4 || !strings.Contains(shown[0], `"guessed"`) || !strings.Contains(shown[2], `"unwrapped"`) || shown[3] != "{}" {
		t.Errorf("shown %q", shown)
	}
	all := strings.Join(results, "\n")
	for _, want := range []string{"property name without quotation marks quoted", "code fence removed", "there twice", "could only be guessed at"} {
		if !strings.Contains(all, want) {
			t.Errorf("no result says %q:\n%s", want, all)
		}
	}
}
