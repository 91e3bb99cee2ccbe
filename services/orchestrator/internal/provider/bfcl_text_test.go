package provider

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
)

// The same calls where the model has no tool calls and writes them into its text,
// in all ways of cutting it.
func TestEveryRecordedCallComesBackFromATextThatHoldsIt(t *testing.T) {
	total, step := 0, sampletest.Count(5, 1)
	for _, set := range bfclSets {
		for i, c := range bfcl(t, set) {
			if i%step != 0 {
				continue
			}
			var said strings.Builder
			if i%2 == 1 {
				said.WriteString("I will look.\n")
			}
			for _, call := range c.calls {
				fmt.Fprintf(&said, "<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>\n", outbound(call.Name), call.Arguments)
			}
			var body strings.Builder
			for text := []rune(said.String()); len(text) > 0; {
				n := min(len(text), 1+i%23)
				piece, err := json.Marshal(string(text[:n]))
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&body, `data: {"choices":[{"index":0,"delta":{"content":%s}}]}`+"\n\n", piece)
				text = text[n:]
			}
			body.WriteString(endedBy("stop") + doneFrame)
			req := hello
			req.Tools = c.tools
			client := newTestClient(t, Config{ToolMode: ToolsPrompted, HTTPTransport: answer(200, nil, body.String(), whole)})
			resp, _, err := ask(client, req)
			if err != nil || len(resp.Calls) != len(c.calls) || strings.Contains(resp.Text, "<") {
				t.Errorf("%s: %d calls of %d, text %q, error %v", c.id, len(resp.Calls), len(c.calls), resp.Text, err)
				continue
			}
			for j, want := range c.calls {
				total++
				if got := resp.Calls[j]; got.Name != want.Name || !reflect.DeepEqual(exactly(t, got.Arguments), exactly(t, want.Arguments)) {
					t.Errorf("%s: call %d is %s(%s), was %s(%s)", c.id, j, got.Name, got.Arguments, want.Name, want.Arguments)
				}
			}
		}
	}
	if step == 1 && total != bfclCalls {
		t.Errorf("%d calls, want %d", total, bfclCalls)
	}
	t.Logf("%d calls", total)
}

// exactly is a JSON text with its numbers as they are written.
func exactly(t *testing.T, text string) (v any) {
	t.Helper()
	decodeNumbers(t, []byte(text), &v)
	return v
}
