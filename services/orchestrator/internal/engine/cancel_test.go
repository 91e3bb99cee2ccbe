package engine

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestCancel(t *testing.T) {
	stuck := func(stopped *atomic.Bool) tool {
		return tool{name: "stuck", effect: toolkit.EffectKeyed, run: func(ctx context.Context, _ *toolkit.Call, _ arguments) (toolkit.Result, error) {
			<-ctx.Done()
			stopped.Store(true)
			return toolkit.Result{}, ctx.Err()
		}}
	}
	for _, tc := range []struct {
		name    string
		script  []reply
		content string
		log     string
		stopped bool
	}{
		{"while the model writes", []reply{hang("So far ")}, "So far ", "run_started message done", false},
		{"while tools run", []reply{call(`echo {"text":"a"}`, "stuck", `echo {"text":"b"}`)}, "",
			"run_started tool_call usage tool_result done", true},
		{"while it waits to try again", []reply{fail("", &provider.Error{Kind: provider.KindRateLimited, RetryAfter: time.Minute})}, "",
			"run_started notice:retry done", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				var stopped atomic.Bool
				w := newWorld(t, echo, stuck(&stopped))
				w.script = tc.script
				e := w.engine("a")
				r := e.ask("")
				time.Sleep(time.Second) // as far as it comes
				synctest.Wait()
				asked := time.Now()
				if _, err := e.Cancel(t.Context(), "ann", r.ID); err != nil {
					t.Fatal(err)
				}
				r = e.ended(r)
				if outcome(r) != "cancelled cancelled" || w.answer(r) != tc.content || w.log(r) != tc.log {
					t.Errorf("%s %q: %s", outcome(r), w.answer(r), w.log(r))
				}
				if took := time.Since(asked); took > 2*time.Second {
					t.Errorf("it took %s to cancel", took)
				}
				if stopped.Load() != tc.stopped {
					t.Errorf("the tool was told to stop: %v, want %v", stopped.Load(), tc.stopped)
				}
				for i, c := range w.toolCalls(r) {
					want := schema.CallDone
					if c.Name == "stuck" {
						want = schema.CallUnknown // it was being made, and has an effect
					}
					if c.State != want {
						t.Errorf("call %d (%s) is %s, want %s", i, c.Name, c.State, want)
					}
				}
				if tc.name == "while the model writes" {
					if w.count("usage_ledger", "input_tokens = 10") != 1 {
						t.Error("what the cut call used was not booked")
					}
					events := w.events(r)
					used := events[len(events)-1].GetDone().Usage
					if used.ModelCalls != 1 || used.InputTokens != 10 || used.OutputTokens != 2 {
						t.Errorf("usage told = %v", used)
					}
					if read, err := w.runs.Used(t.Context(), r.ID); err != nil || !proto.Equal(read[r.ID], used) {
						t.Errorf("usage read later = %v, %v", read[r.ID], err)
					}
				}
				w.script = []reply{say("Next.")}
				if next := e.ended(e.ask(r.ConversationID)); outcome(next) != "completed stop" {
					t.Errorf("the next run: %s", outcome(next))
				}
			})
		})
	}
}

func TestWhatARunUsedIsBookedAlsoWhenItIsGone(t *testing.T) {
	for _, tc := range []struct {
		name string
		take func(t *testing.T, w *world, r schema.Run)
	}{
		{"because its conversation was deleted", func(t *testing.T, w *world, r schema.Run) {
			if err := w.convs.Delete(t.Context(), "ann", r.ConversationID); err != nil {
				t.Fatal(err)
			}
		}},
		{"because somebody else has it", func(t *testing.T, w *world, r schema.Run) {
			if _, err := w.runs.FreeAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, _, err := w.runs.Claim(t.Context(), r.ID, run.Owner{ID: "own_b"}, w.cfg.Limits); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t)
				w.script = []reply{hang("So far ")}
				e := w.engine("a")
				r := e.ask("")
				synctest.Wait()
				tc.take(t, w, r)
				time.Sleep(2 * run.RenewEvery) // the owner learns it at its next renewal
				synctest.Wait()
				if n := len(e.jobs()); n != 0 {
					t.Errorf("%d runs go on", n)
				}
				if n := w.count("usage_ledger", "input_tokens = 10 AND output_tokens = 2"); n != 1 {
					t.Errorf("%d model calls were booked, want 1", n)
				}
			})
		})
	}
}

func TestACancelReachesTheOwnerInAnotherProcess(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.script = []reply{hang("So far ")}
		first, second := w.engine("a"), w.engine("b")
		r := first.ask("")
		synctest.Wait()
		if r, err := second.Cancel(t.Context(), "ann", r.ID); err != nil || r.Status != schema.RunRunning || !r.CancelRequested {
			t.Errorf("run = %+v, %v", r, err)
		}
		begun := time.Now()
		if r = second.ended(r); outcome(r) != "cancelled cancelled" || w.answer(r) != "So far " {
			t.Errorf("%s %q", outcome(r), w.answer(r))
		}
		if d := time.Since(begun); d > run.RenewEvery+time.Second {
			t.Errorf("it took %s", d)
		}
	})
}

func TestACancelOutlivesTheOwner(t *testing.T) {
	for _, tc := range []struct {
		name string
		die  func(d *dead)
		log  string
	}{
		{"that died in a model call", func(*dead) {}, "run_started round_restarted done"},
		{"that died between its calls", func(d *dead) {
			calls := d.plan(`echo {"text":"a"}`, `echo {"text":"b"}`)
			d.result(&calls[1], false)
		}, "run_started tool_call tool_result done"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t, echo)
				d := w.dead()
				tc.die(d)
				if _, err := w.runs.RequestCancel(t.Context(), "ann", d.st.Run.ID, run.Owner{}); err != nil {
					t.Fatal(err)
				}
				r := w.recovered("b").ended(d.st.Run)
				if outcome(r) != "cancelled cancelled" || w.log(r) != tc.log || len(w.requests) != 0 {
					t.Errorf("%s: %s", outcome(r), w.log(r))
				}
			})
		})
	}
}

func TestAResultThatIsThereIsStoredAlsoWhenTheRunIsToStop(t *testing.T) {
	in(t, func(t *testing.T) {
		var answered atomic.Bool
		w := newWorld(t, tool{name: "send", effect: toolkit.EffectOpaque, run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
			answered.Store(true)
			return text("sent"), nil
		}})
		w.script = []reply{call("send")}
		var armed atomic.Pointer[engine]
		e := w.engineAt("a", func() time.Time {
			if e := armed.Load(); e != nil && answered.Load() {
				for _, j := range e.jobs() {
					j.cancel(errCancelled) // between the result and its commit
				}
			}
			return time.Now()
		})
		armed.Store(e)
		r := e.finish()
		if c := w.toolCalls(r)[0]; outcome(r) != "cancelled cancelled" || c.State != schema.CallDone || !strings.Contains(c.Result, "sent") {
			t.Errorf("%s, call = %+v", outcome(r), c)
		}
	})
}
