package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// house is a suite that is killed and started again on the same data folder,
// while the model, the site and the stranger's tools live on.
type house struct {
	t      *testing.T // of the whole house; a process outlives single stories
	w      *world.World
	hands  *world.Hands
	config string
	p      *world.Process

	mu    sync.Mutex
	asked func(user string, round int) // called when the model is asked
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, w: world.New(t, killScript)}
	h.hands = h.w.StartHands(t)
	front := httptest.NewServer(h.model())
	t.Cleanup(front.Close)
	h.w.Config.Models[0].APIURL = front.URL + "/v1"
	h.config = h.w.ConfigFile(t)
	h.start()
	return h
}

func (h *house) start() {
	h.p = world.Serve(h.t, world.Program(h.t, "nanoclaw"), h.config)
}

// killScript has the conversations of the kills. {{user}} is the name under
// which the tools count, so that every conversation has its own.
const killScript = `
chunk: 8
turns:
  - when: {user_contains: "afterwards"}
    replies:
      - steps: [{text: "All is well."}]
  - when: {user_contains: "opaque"}
    replies:
      - steps: [{call: {name: hands__note, arguments: {name: "{{user}}"}}}]
      - steps: [{text: "Told: {{result hands__note}}"}]
  - when: {user_contains: "side by side"}
    replies:
      - steps:
          - call: {name: hands__tally, arguments: {name: "{{user}}/quick"}}
          - call: {name: hands__tally, arguments: {name: "{{user}}/slow"}}
          - call: {name: hands__look, arguments: {name: "{{user}}/quick"}}
      - steps: [{text: "Both were counted."}]
  - when: {user_contains: "forever"}
    replies:
      - steps: [{text: "It begins."}, {silence: true}]
  - replies:
      - steps:
          - reasoning: "Where to begin?"
          - delay_ms: 15
          - reasoning: " With counting, größer and 爪."
          - delay_ms: 15
          - text: "I will count"
          - delay_ms: 15
          - text: " once and again."
          - delay_ms: 15
          - call: {name: hands__tally, arguments: {name: "{{user}}/first"}}
      - steps:
          - text: "Counted. Now I read."
          - delay_ms: 15
          - call: {name: web_search, arguments: {query: "nanoclaws"}}
          - call: {name: hands__tally, arguments: {name: "{{user}}/second"}}
      - steps:
          - reasoning: "That was all."
          - delay_ms: 15
          - text: "The answer is: "
          - delay_ms: 15
          - text: "forty nanometres, "
          - delay_ms: 15
          - text: "from tip to tip. 🦞"
          - delay_ms: 15
`

// model is the scripted model with a bell at its door.
func (h *house) model() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the suite was killed
		}
		h.mu.Lock()
		ring := h.asked
		h.mu.Unlock()
		if ring != nil {
			ring(lastAsked(body))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.w.Model.ServeHTTP(rw, r)
	})
}

// lastAsked is the last user message of a model request and the round, from 1.
func lastAsked(body []byte) (user string, round int) {
	var req struct {
		Messages []struct{ Role, Content string }
	}
	_ = json.Unmarshal(body, &req)
	for _, m := range req.Messages {
		switch m.Role {
		case "user":
			user, round = m.Content, 1
		case "assistant":
			round++
		}
	}
	return user, round
}

func (h *house) whenAsked(ring func(user string, round int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = ring
}

// moment is when the suite is killed; one of at, hold and asked is set.
type moment struct {
	name string
	// say is what the user says; it chooses the turn of the script.
	say string
	// at is true for the event that is the last to be seen.
	at func(e world.Event, run *world.Transcript) bool
	// hold names a call that has had its effect and has no result; "/" is the
	// one that is named as the message.
	hold string
	// asked is the round for which the model was just asked.
	asked int
	// after is a time since the message was sent.
	after time.Duration
	// cancel asks for the end of the run just before the kill.
	cancel bool
}

func event(name string, round int) func(world.Event, *world.Transcript) bool {
	return func(e world.Event, _ *world.Transcript) bool {
		of, _ := e.Data["round"].(float64)
		return e.Name == name && (round == 0 || int(of) == round)
	}
}

func moments() []moment {
	return []moment{
		{name: "the run was begun", at: event("run_started", 0)},
		{name: "the model is asked for the first time", asked: 1},
		{name: "the model thinks", at: event("thinking", 1)},
		{name: "the model writes", at: event("message", 1)},
		{name: "the model writes arguments", at: event("tool_args", 1)},
		{name: "calls are planned", at: event("tool_call", 1)},
		{name: "a slow tool has had its effect and no result", hold: "/first"},
		{name: "a result is logged", at: event("tool_result", 1)},
		{name: "the model is asked between rounds", asked: 2},
		{name: "the model writes in the second round", at: event("message", 2)},
		{name: "two calls are planned", at: event("tool_call", 2)},
		{name: "one of two calls has ended", hold: "/second"},
		{name: "one of three calls side by side has not ended", say: "side by side", hold: "/slow"},
		{name: "the model is asked for the answer", asked: 3},
		{name: "half of the answer is written", at: func(_ world.Event, run *world.Transcript) bool { return strings.Contains(run.Text(3), "forty") }},
		{name: "the answer is stored and the run not ended", at: event("usage", 3)},
		{name: "the run has just ended", at: event("done", 0)},
		{name: "the end of the run was asked for", at: event("message", 1), cancel: true},
	}
}

func TestARunGoesOnAfterKill9(t *testing.T) {
	t.Parallel()
	all := moments()
	for part := range 2 { // two houses, so that one starts while the other works
		t.Run(fmt.Sprint("house ", part+1), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			for i := part; i < len(all); i += 2 {
				t.Run(all[i].name, func(t *testing.T) { h.survive(t, all[i]) })
			}
			h.leave(t)
		})
	}
}

func TestARunGoesOnAfterKill9AtAnyMoment(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, seed := range seeds(t, sampletest.Count(6, 150)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h.survive(t, moment{after: time.Duration(sampletest.Random(seed).IntN(400)) * time.Millisecond})
		})
	}
	h.leave(t)
}

// leave ends the suite in order.
func (h *house) leave(t *testing.T) {
	if err := h.p.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// survive kills the suite in a moment of a run, starts it again, and checks that
// everything is as if nothing had happened.
func (h *house) survive(t *testing.T, m moment) {
	s := h.killedIn(t, m)
	before := len(s.run.IDs)
	h.start()
	if s.held != nil {
		s.held.Release()
	}
	s.untilEnd(t)
	log := checkRun(t, h.p.Client, s.conversation, s.run.RunID, &s.run)
	t.Logf("killed after %d logged events of %d; restarted rounds %v", before, len(log.IDs), log.Restarts)
	s.checkEnd(t, m, log)
	s.goesOn(t)
}

// scene is one conversation in which the suite is killed.
type scene struct {
	*house
	name         string // the message, and the name under which its tools count
	conversation string
	run          world.Transcript
	held         *world.Held
}

// killedIn is a conversation whose process was killed in the moment.
func (h *house) killedIn(t *testing.T, m moment) *scene {
	t.Helper()
	s := &scene{house: h, name: strings.TrimSpace(m.say + " " + t.Name()), conversation: h.p.Conversation(t)}
	s.untilKilled(t, m)
	return s
}

func (s *scene) send(ctx context.Context, got func(world.Event) bool) error {
	return s.p.Send(ctx, s.conversation, map[string]any{"content": s.name}, got, "Idempotency-Key", s.conversation)
}

// untilKilled sends the message and reads until the process was killed.
func (s *scene) untilKilled(t *testing.T, m moment) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var killed atomic.Bool
	kill := func() {
		if !killed.Swap(true) {
			s.p.Kill()
		}
	}
	p := s.p
	switch {
	case m.hold != "":
		s.held = s.hands.Hold(strings.TrimSuffix(s.name+m.hold, "/"))
		defer context.AfterFunc(ctx, s.held.Release)()
		go func() {
			select {
			case <-s.held.Entered:
				kill()
			case <-ctx.Done():
			}
		}()
	case m.asked > 0:
		s.whenAsked(func(user string, round int) {
			if user == s.name && round == m.asked {
				kill()
			}
		})
		defer s.whenAsked(nil)
	case m.at == nil:
		defer time.AfterFunc(m.after, kill).Stop()
	}
	err := s.send(ctx, func(e world.Event) bool {
		more := s.run.Take(e)
		if m.at == nil || !m.at(e, &s.run) {
			return more
		}
		if m.cancel {
			_, _ = p.Do(ctx, "POST", "/api/runs/"+s.run.RunID+"/cancel", map[string]any{})
		}
		kill()
		return false
	})
	if m.at == nil && m.hold == "" && m.asked == 0 {
		kill() // the run was faster
	}
	if !killed.Load() {
		t.Fatalf("the moment did not come: %v, %v", s.run.Names, err)
	}
	p.Kill() // returns when it is gone
}

// goesOn checks that the conversation takes the next message: its history is
// valid for the model.
func (s *scene) goesOn(t *testing.T) {
	t.Helper()
	after := s.p.Ask(t, s.conversation, "and afterwards?")
	if after.Reason() != "" || after.Text(1) != "All is well." {
		t.Errorf("the next message: %v %v", after.Done, after.Error)
	}
}

// untilEnd resumes as a client does: with the last id, or, when it does not
// even know the run, by sending the message again with its key.
func (s *scene) untilEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if s.run.Ended() {
		return
	}
	var err error
	if s.run.RunID == "" {
		err = s.send(ctx, s.run.Take)
	} else {
		err = s.p.Resume(ctx, &s.run)
	}
	if err != nil || !s.run.Ended() {
		t.Fatalf("the run did not end: %v, %v\n%s", s.run.Names, errors.Join(err, ctx.Err()), s.p.Stderr())
	}
}

func (s *scene) checkEnd(t *testing.T, m moment, log *world.Transcript) {
	want := map[string]int{"/first": 1, "/second": 1}
	switch {
	case m.cancel && log.Done["finish_reason"] == "cancelled":
		return
	case m.say == "side by side":
		want = map[string]int{"/quick": 1, "/slow": 1}
	case log.Text(3) != "The answer is: forty nanometres, from tip to tip. 🦞":
		t.Errorf("the answer is %q", log.Text(3))
	}
	if log.Done["finish_reason"] != "stop" {
		t.Errorf("the run ended with %v %v", log.Done, log.Error)
	}
	for what, n := range want {
		if got := s.hands.Count(s.name + what); got != n {
			t.Errorf("the effect %s was had %d times, not %d", what, got, n)
		}
	}
	for _, r := range log.Results {
		if r["is_error"] == true {
			t.Errorf("a call failed: %v", r)
		}
	}
}
