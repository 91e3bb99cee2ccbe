package runs

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

const answersScript = `
turns:
  - when: {user_contains: "count"}
    replies:
      - steps: [{text: "Counting."}, {call: {name: hands__tally, arguments: {name: "{{user}}"}}}]
      - steps: [{text: "Counted: {{result hands__tally count}}."}]
  - when: {user_contains: "be silent"}
    replies:
      - steps: [{text: "Shh."}, {silence: true}]
  - replies:
      - steps: [{reasoning: "Easy."}, {text: "You said: {{user}}"}]
`

func startAnswers(t *testing.T) (*world.Client, *world.Hands) {
	t.Helper()
	w := world.New(t, answersScript)
	hands := w.StartHands(t)
	return world.ClientOf(w.Start(t)), hands
}

func TestAnAnswerThatIsNotStreamed(t *testing.T) {
	t.Parallel()
	c, hands := startAnswers(t)
	id := c.Conversation(t)
	m := c.Data(t, "POST", "/api/conversations/"+id+"/messages", map[string]any{"content": "count one", "stream": false})
	if m["content"] != "Counted: 1." || m["status"] != "completed" || m["finish_reason"] != "stop" || hands.Count("count one") != 1 {
		t.Errorf("the answer is %v, counted %d", m, hands.Count("count one"))
	}
	var kinds []string
	for _, step := range m["steps"].([]any) {
		kinds = append(kinds, step.(map[string]any)["type"].(string))
	}
	if want := []string{"text", "tool_call", "tool_result", "text"}; !slices.Equal(kinds, want) {
		t.Errorf("steps %v, want %v", kinds, want)
	}
	m = c.Data(t, "POST", "/api/conversations/"+id+"/messages", map[string]any{"content": "count two", "stream": false, "tools_enabled": false})
	if m["content"] != "Counting." || hands.Count("count two") != 0 {
		t.Errorf("without tools the answer is %v, counted %d", m, hands.Count("count two"))
	}
}

func TestChatIsTheSimpleEntryForBots(t *testing.T) {
	t.Parallel()
	c, _ := startAnswers(t)
	status, first, _ := raw(t, c, "POST", "/chat", `{"message":"hello"}`)
	if status != 200 || first["reply"] != "You said: hello" || first["code"] != nil || len(first) != 2 {
		t.Fatalf("%d %v", status, first)
	}
	id, _ := first["conversation_id"].(string)
	// Bots send more than we know of: it is not refused here.
	status, second, _ := raw(t, c, "POST", "/chat", fmt.Sprintf(`{"message":"again","conversation_id":%q,"user":"u1"}`, id))
	if status != 200 || second["reply"] != "You said: again" || second["conversation_id"] != id {
		t.Errorf("%d %v", status, second)
	}
	if n := len(c.Messages(t, id)); n != 4 {
		t.Errorf("%d messages, not 4", n)
	}
}

func TestAnAnswerIsMadeAgainOnABranch(t *testing.T) {
	t.Parallel()
	c, _ := startAnswers(t)
	id := c.Conversation(t)
	c.Ask(t, id, "first")
	c.Ask(t, id, "second")
	before := c.Messages(t, id)
	var run world.Transcript
	res, err := c.Do(t.Context(), "POST", "/api/conversations/"+id+"/messages/"+before[1]["id"].(string)+"/regenerate", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	world.Events(res.Body, run.Take)
	log := checkRun(t, c, id, run.RunID, &run)
	if log.Text(1) != "You said: first" {
		t.Errorf("the answer is %q", log.Text(1))
	}
	after := c.Messages(t, id)
	if len(after) != 2 || after[0]["id"] != before[0]["id"] || after[1]["id"] == before[1]["id"] || after[1]["parent_id"] != before[0]["id"] {
		t.Errorf("the branch is %v", after)
	}
	if next := c.Ask(t, id, "third"); next.Text(1) != "You said: third" || len(c.Messages(t, id)) != 4 {
		t.Errorf("the branch goes on with %v", next.Done)
	}
}

// begin sends a message and returns the run's id as soon as it is known. The run
// goes on.
func begin(t testing.TB, c *world.Client, conversation, content string) string {
	t.Helper()
	var run world.Transcript
	err := c.Send(t.Context(), conversation, map[string]any{"content": content}, func(e world.Event) bool { return run.Take(e) && run.RunID == "" })
	if err != nil || run.RunID == "" {
		t.Fatalf("begin %q: %v, %v", content, run.Names, err)
	}
	return run.RunID
}

func TestARunIsCancelledInTheMiddleOfATool(t *testing.T) {
	t.Parallel()
	c, hands := startAnswers(t)
	id := c.Conversation(t)
	held := hands.Hold("count slowly")
	t.Cleanup(held.Release)
	runID := begin(t, c, id, "count slowly")
	<-held.Entered
	began := time.Now()
	c.Data(t, "POST", "/api/runs/"+runID+"/cancel", map[string]any{})
	watcher := &world.Transcript{RunID: runID}
	if err := c.Resume(t.Context(), watcher); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the run ended %s after it was asked to", took)
	}
	log := checkRun(t, c, id, runID, watcher)
	if log.Done["finish_reason"] != "cancelled" || log.Text(1) != "Counting." {
		t.Errorf("the run ended with %v, %q", log.Done, log.Text(1))
	}
	if next := c.Ask(t, id, "go on"); next.Text(1) != "You said: go on" {
		t.Errorf("the next message: %v %v", next.Done, next.Error)
	}
}

func TestAConversationIsDeletedUnderItsRun(t *testing.T) {
	t.Parallel()
	c, _ := startAnswers(t)
	id := c.Conversation(t)
	runID := begin(t, c, id, "be silent")
	watched := make(chan *world.Transcript, 1)
	reading := make(chan struct{})
	go func() {
		run := &world.Transcript{RunID: runID}
		once := sync.OnceFunc(func() { close(reading) })
		run.Err = c.Watch(t.Context(), runID, 0, func(e world.Event) bool {
			defer once()
			return run.Take(e)
		})
		watched <- run
	}()
	<-reading
	began := time.Now()
	c.Data(t, "DELETE", "/api/conversations/"+id, nil)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if run := <-watched; run.Err != nil || run.Done["finish_reason"] != "cancelled" {
		t.Errorf("the watcher saw %v, %v", run.Names, run.Err)
	}
	for _, path := range []string{"/api/conversations/" + id, "/api/conversations/" + id + "/messages", "/api/runs/" + runID, "/api/runs/" + runID + "/events"} {
		if status, answer, _ := raw(t, c, "GET", path, ""); status != 404 {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}
}

func TestASecondMessageWaitsForTheRun(t *testing.T) {
	t.Parallel()
	c, _ := startAnswers(t)
	id := c.Conversation(t)
	runID := begin(t, c, id, "be silent")
	for _, body := range []string{`{"content":"me too"}`, `{"content":"me too","stream":false}`} {
		status, answer, _ := raw(t, c, "POST", "/api/conversations/"+id+"/messages", body)
		if status != 409 || answer["reason"] != "RUN_IN_PROGRESS" || answer["run_id"] != runID {
			t.Errorf("%s: %d %v", body, status, answer)
		}
	}
	live, _ := c.Data(t, "GET", "/api/conversations/"+id, nil)["live_run"].(map[string]any)
	if live["id"] != runID || live["status"] != "running" {
		t.Errorf("live run %v", live)
	}
	c.Data(t, "POST", "/api/runs/"+runID+"/cancel", map[string]any{})
	log := c.Replay(t, runID)
	if log.Done["finish_reason"] != "cancelled" || len(c.Messages(t, id)) != 2 {
		t.Errorf("%v, %d messages", log.Done, len(c.Messages(t, id)))
	}
}

func TestAMessageIsSentTwiceUnderOneKey(t *testing.T) {
	t.Parallel()
	c, hands := startAnswers(t)
	id := c.Conversation(t)
	first := c.Ask(t, id, "count once", "Idempotency-Key", "k1")
	again := c.Ask(t, id, "count once", "Idempotency-Key", "k1")
	if first.RunID != again.RunID || fmt.Sprint(first.Rounds()) != fmt.Sprint(again.Rounds()) {
		t.Errorf("it was answered twice: %s, %s", first.RunID, again.RunID)
	}
	whole := c.Data(t, "POST", "/api/conversations/"+id+"/messages", map[string]any{"content": "count once", "stream": false}, "Idempotency-Key", "k1")
	if whole["run_id"] != first.RunID {
		t.Errorf("not streamed it was answered anew: %v", whole)
	}
	if n := hands.Count("count once"); n != 1 || len(c.Messages(t, id)) != 2 {
		t.Errorf("counted %d times, %d messages", n, len(c.Messages(t, id)))
	}
	status, answer, _ := raw(t, c, "POST", "/api/conversations/"+id+"/messages", `{"content":"something else"}`, "Idempotency-Key", "k1")
	if status != 409 || answer["reason"] != "KEY_REUSED" {
		t.Errorf("another body: %d %v", status, answer)
	}

	// While it goes on, it is attached to.
	held := hands.Hold("count slowly")
	var runs [3]world.Transcript
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			runs[i].Err = c.Send(t.Context(), id, map[string]any{"content": "count slowly"}, runs[i].Take, "Idempotency-Key", "k2")
		})
	}
	<-held.Entered
	held.Release()
	wg.Wait()
	checkRun(t, c, id, runs[0].RunID, &runs[0], &runs[1], &runs[2])
	if runs[0].RunID != runs[1].RunID || runs[1].RunID != runs[2].RunID || hands.Count("count slowly") != 1 {
		t.Errorf("runs %s %s %s, counted %d times", runs[0].RunID, runs[1].RunID, runs[2].RunID, hands.Count("count slowly"))
	}
}

func TestASlowReaderHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	const line = "0123456789abcdef, and so on, 爪\n"
	lines := sampletest.Count(60_000, 200_000) // 2 MB, or more than 6
	w := world.New(t, fmt.Sprintf("chunk: 65536\nturns:\n  - replies:\n      - steps: [{text: %q}]\n", strings.Repeat(line, lines)))
	c := world.ClientOf(w.Start(t))
	id := c.Conversation(t)
	res, err := c.Do(t.Context(), "POST", "/api/conversations/"+id+"/messages", map[string]any{"content": "tell me all"})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var slow world.Transcript
	runID := c.Data(t, "GET", "/api/conversations/"+id, nil)["live_run"].(map[string]any)["id"].(string)
	fast := &world.Transcript{RunID: runID}
	if err := c.Resume(t.Context(), fast); err != nil { // the slow one has read nothing yet
		t.Fatal(err)
	}
	world.Events(res.Body, slow.Take)
	if err := slow.Err; err != nil {
		t.Fatal(err)
	}
	if !slow.Ended() {
		slow.RunID = runID
		if err := c.Resume(t.Context(), &slow); err != nil {
			t.Fatal(err)
		}
	}
	log := checkRun(t, c, id, runID)
	for name, run := range map[string]*world.Transcript{"slow": &slow, "fast": fast, "late": log} {
		if got := run.Text(1); got != strings.Repeat(line, lines) {
			t.Errorf("the %s reader has %d bytes of %d", name, len(got), len(line)*lines)
		}
	}
}

func TestConversationsGoOnSideBySide(t *testing.T) {
	t.Parallel()
	c, hands := startAnswers(t)
	var ids [4]string
	var runs [4]world.Transcript
	held := make([]*world.Held, len(ids))
	var wg sync.WaitGroup
	for i := range ids {
		ids[i], held[i] = c.Conversation(t), hands.Hold(fmt.Sprint("count ", i))
		wg.Go(func() {
			runs[i].Err = c.Send(t.Context(), ids[i], map[string]any{"content": fmt.Sprint("count ", i)}, runs[i].Take)
		})
	}
	for _, h := range held {
		<-h.Entered // all four are in the middle of their call now
	}
	for _, h := range held {
		h.Release()
	}
	wg.Wait()
	for i := range ids {
		log := checkRun(t, c, ids[i], runs[i].RunID, &runs[i])
		if log.Done["finish_reason"] != "stop" || log.Text(2) != "Counted: 1." {
			t.Errorf("conversation %d ended with %v, %q", i, log.Done, log.Text(2))
		}
	}
}

func TestRunsQueueUpToALimit(t *testing.T) {
	t.Parallel()
	w := world.New(t, answersScript)
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-gate:
			w.Model.ServeHTTP(rw, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(api.Close)
	w.Config.Models[0].APIURL = api.URL
	c := world.ClientOf(w.Start(t))
	const running, queued = 4, 20
	ids, runs := make([]string, running+queued), make([]string, running+queued)
	for i := range ids {
		ids[i] = c.Conversation(t)
		runs[i] = begin(t, c, ids[i], fmt.Sprint("message ", i))
	}
	states := map[any]int{}
	for _, id := range runs {
		states[c.Data(t, "GET", "/api/runs/"+id, nil)["status"]]++
	}
	if states["running"] != running || states["queued"] != queued {
		t.Errorf("runs are %v", states)
	}
	id := c.Conversation(t)
	status, answer, header := raw(t, c, "POST", "/api/conversations/"+id+"/messages", `{"content":"one too many"}`)
	if status != 429 || answer["reason"] != "TOO_MANY_RUNS" || header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d %v, Retry-After %q", status, answer, header.Get("Retry-After"))
	}
	if n := len(c.Messages(t, id)); n != 0 {
		t.Errorf("of the refused message %d messages are stored", n)
	}
	// One of those that wait is not wanted any more.
	c.Data(t, "POST", "/api/runs/"+runs[running]+"/cancel", map[string]any{})
	open()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i, runID := range runs {
		run := &world.Transcript{RunID: runID}
		if err := c.Resume(ctx, run); err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
		checkRun(t, c, ids[i], runID, run)
		want := "stop"
		if i == running {
			want = "cancelled"
		}
		if run.Done["finish_reason"] != want {
			t.Errorf("run %d ended with %v %v, want %s", i, run.Done, run.Error, want)
		}
	}
	if next := c.Ask(t, id, "now?"); next.Text(1) != "You said: now?" {
		t.Errorf("afterwards: %v %v", next.Done, next.Error)
	}
}
