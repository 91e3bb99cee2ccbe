// Package test has whole stories: every service real, the internet and the model
// on loopback.
package test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// searchFetch is the script in which the model searches, reads what it found
// and answers with it.
func searchFetch(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("testdata/search-fetch.yml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAskSearchFetchAnswerOverSSE(t *testing.T) {
	w := world.New(t, searchFetch(t))
	c := world.ClientOf(w.Start(t))
	id := c.Conversation(t)
	res, err := c.Do(t.Context(), "POST", "/api/conversations/"+id+"/messages", map[string]any{"content": "Please look up nanoclaws"})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("%d %s", res.StatusCode, got)
	}
	if res.Header.Get("X-Trace-Id") == "" {
		t.Error("the answer has no trace id")
	}
	var names []string
	var answer string
	var done map[string]any
	world.Events(res.Body, func(e world.Event) bool {
		if e.Name == "message" && e.Data["round"].(float64) == 3 {
			offset := int(e.Data["offset"].(float64))
			answer = answer[:offset] + e.Data["content"].(string)
		}
		if len(names) == 0 || names[len(names)-1] != e.Name {
			names = append(names, e.Name)
		}
		if e.Name == "done" {
			done = e.Data
		}
		return true
	})
	for _, want := range []string{"run_started", "thinking", "message", "tool_call", "tool_result", "usage", "done"} {
		if !slices.Contains(names, want) {
			t.Errorf("no event %s in %v", want, names)
		}
	}
	if names[len(names)-1] != "done" || done["finish_reason"] != "stop" {
		t.Errorf("the stream ended with %v, %v", names, done)
	}
	if !strings.Contains(answer, world.Article) {
		t.Errorf("the answer lacks the article: %q", answer)
	}

	// What was streamed is stored.
	list := c.Data(t, "GET", "/api/conversations/"+id+"/messages", nil)["items"].([]any)
	if len(list) != 2 {
		t.Fatalf("%d messages", len(list))
	}
	stored := list[1].(map[string]any)
	if stored["content"] != answer {
		t.Errorf("stored %q, streamed %q", stored["content"], answer)
	}
	var kinds []string
	for _, s := range stored["steps"].([]any) {
		kinds = append(kinds, s.(map[string]any)["type"].(string))
	}
	want := []string{"thinking", "text", "tool_call", "tool_result", "tool_call", "tool_result", "text"}
	if !slices.Equal(kinds, want) {
		t.Errorf("steps %v, want %v", kinds, want)
	}
	if origins, _ := json.Marshal(stored["origins"]); !strings.Contains(string(origins), "fetch_page:127.0.0.1") {
		t.Errorf("origins of the answer: %s", origins)
	}
}
