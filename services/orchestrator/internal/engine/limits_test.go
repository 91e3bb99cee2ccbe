package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestAfterTheLastRoundOfToolsComesOneAnswerWithout(t *testing.T) {
	for name, last := range map[string]reply{"the model obeys": say("That is all."), "the model calls again": call(`echo {"text":"again"}`)} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t, echo)
				for i := range w.cfg.MaxIterations {
					w.script = append(w.script, call(fmt.Sprintf(`echo {"text":"%d"}`, i)))
				}
				w.script = append(w.script, last)
				r := w.engine("a").finish()
				if outcome(r) != "completed limit" || len(w.toolCalls(r)) != 5 || len(w.requests) != 6 {
					t.Errorf("%s after %d calls and %d requests", outcome(r), len(w.toolCalls(r)), len(w.requests))
				}
				for i, req := range w.requests {
					if req.ToolChoiceNone != (i == 5) || len(req.Tools) != 1 {
						t.Errorf("request %d forbids tools: %v, lists %d", i, req.ToolChoiceNone, len(req.Tools))
					}
				}
				if got := w.log(r); !strings.Contains(got, "notice:limit") {
					t.Errorf("log = %s", got)
				}
			})
		})
	}
}

func TestTheBreakerEndsALoop(t *testing.T) {
	poll := tool{name: "poll", edit: func(d *toolkit.Tool) { d.Polling = true }, run: echo.run}
	three := func(r ...reply) []reply { return append(r, say("I give up.")) }
	for _, tc := range []struct {
		name   string
		script []reply
		want   string
	}{
		{"when a tool fails in three rounds", three(call(`broken {"n":1}`), call(`broken {"n":2}`), call(`broken {"n":3}`)), "completed breaker"},
		{"not when it fails in two", three(call(`broken {"n":1}`), call(`broken {"n":2}`)), "completed stop"},
		{"not when one of its calls works", three(call(`echo {"text":{}}`), call(`echo {"text":{"b":1}}`, `echo {"text":"a"}`), call(`echo {"text":{"c":1}}`)), "completed stop"},
		{"when a tool that is not there is called", three(call(`x {"n":1}`), call(`x {"n":2}`), call(`x {"n":3}`)), "completed breaker"},
		{"also with another tool between", three(call(`broken {"n":1}`), call(`echo {"text":"a"}`), call(`broken {"n":2}`), call(`broken {"n":3}`)), "completed breaker"},
		{"when the same call is made in three rounds", three(call(`echo {"text":"a"}`), call(`echo { "text": "a" }`), call(`echo {"text":"a"}`)), "completed breaker"},
		{"not when a tool is polled", three(call("poll"), call("poll"), call("poll"), call("poll")), "completed stop"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t, echo, broken, poll)
				w.script = tc.script
				r := w.engine("a").finish()
				if outcome(r) != tc.want || w.answer(r) != "I give up." {
					t.Errorf("%s: %q, want %s", outcome(r), w.answer(r), tc.want)
				}
				if got := strings.Contains(w.log(r), "notice:breaker"); got != strings.Contains(tc.want, "breaker") {
					t.Errorf("log = %s", w.log(r))
				}
			})
		})
	}
}

func TestARunHasATimeFromItsFirstModelCall(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.script = []reply{hang("So far ")}
		w.cfg.MaxRuns = 1
		e := w.engine("a")
		first, second := e.ask(""), e.ask("")
		for _, r := range []schema.Run{first, second} {
			r = e.ended(r)
			if outcome(r) != "failed RUN_TIMEOUT" || w.answer(r) != "So far " || !r.ErrorRetryable {
				t.Errorf("%s: %q", outcome(r), w.answer(r))
			}
		}
		a, b := w.run(first.ID), w.run(second.ID)
		if d := time.UnixMilli(b.EndedAt).Sub(time.UnixMilli(a.EndedAt)); d < w.cfg.RunTimeout || d > w.cfg.RunTimeout+5*time.Second {
			t.Errorf("the run that was queued had %s, want its whole %s", d, w.cfg.RunTimeout)
		}
	})
}

func TestTheNextOfAUserGoesOnWhenOneEnds(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		gate := make(chan struct{})
		w.script = []reply{func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
			<-gate
			return say("Done.")(ctx, req, yield)
		}}
		e := w.engine("a")
		var all []schema.Run
		for range 6 {
			all = append(all, e.ask(""))
		}
		for i, r := range all {
			if want := map[bool]string{true: schema.RunRunning, false: schema.RunQueued}[i < 4]; r.Status != want {
				t.Errorf("run %d is %s, want %s", i, r.Status, want)
			}
		}
		cancelled := all[5]
		if r, err := e.Cancel(t.Context(), "ann", cancelled.ID); err != nil || r.Status != schema.RunCancelled {
			t.Errorf("cancelling a queued run: %+v, %v", r, err)
		}
		e.ended(cancelled)
		time.Sleep(10 * time.Second)
		if r := w.run(all[4].ID); r.Status != schema.RunQueued {
			t.Errorf("the fifth run is %s while four go on", r.Status)
		}
		ended := time.Now()
		gate <- struct{}{} // one ends, the fifth begins and ends too
		close(gate)
		for _, r := range all[:5] {
			if r = e.ended(r); outcome(r) != "completed stop" {
				t.Errorf("outcome = %s", outcome(r))
			}
		}
		if d := time.Since(ended); d > time.Second {
			t.Errorf("the queue waited %s for the sweeper", d)
		}
	})
}

func TestAProcessTakesNoMoreRunsThanItMay(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.cfg.MaxRuns = 2
		var now, most atomic.Int32
		w.script = []reply{func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return say("Done.")(ctx, req, yield)
		}}
		e := w.engine("a")
		var wg sync.WaitGroup
		for range 6 {
			r := e.ask("")
			wg.Go(func() { e.ended(r) })
		}
		wg.Wait()
		if most.Load() != 2 {
			t.Errorf("%d runs at once, want 2", most.Load())
		}
	})
}
