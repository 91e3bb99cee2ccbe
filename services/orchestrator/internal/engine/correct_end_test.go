package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestACorrectorPassEndsWithItsRun(t *testing.T) {
	for _, tc := range []struct {
		name  string
		end   func(e *engine, r schema.Run)
		after time.Duration
		want  string
	}{
		{"when it is cancelled", func(e *engine, r schema.Run) { _, _ = e.Cancel(context.Background(), "ann", r.ID) }, time.Second, "cancelled cancelled"},
		{"when its time is over", func(*engine, schema.Run) {}, 30 * time.Second, "failed RUN_TIMEOUT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t, echo)
				w.cfg.RunTimeout = 30 * time.Second
				w.script, w.corrector = []reply{call(`echo {"text":"a"}`, "echo "+twice)}, hang("{")
				begun := time.Now()
				e := w.engine("a")
				r := e.ask("")
				time.Sleep(time.Second)
				tc.end(e, r)
				r = e.ended(r)
				if took := time.Since(begun); outcome(r) != tc.want || took > tc.after+time.Second {
					t.Errorf("%s after %s", outcome(r), took)
				}
				if log := w.log(r); !strings.HasPrefix(log, "run_started usage tool_call tool_result ") {
					t.Errorf("log = %s", log)
				}
				if n := w.count("usage_ledger", "kind = 'model'"); n != 2 {
					t.Errorf("%d model calls were booked, want 2", n)
				}
			})
		})
	}
}

func TestACorrectorPassThatHangsIsGivenUpAndTheRunGoesOn(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t, echo)
		w.script, w.corrector = []reply{call("echo " + twice), say("Done.")}, hang("{")
		begun := time.Now()
		r := w.engine("a").finish()
		if took := time.Since(begun); outcome(r) != "completed stop" || took != w.cfg.CorrectionTime {
			t.Errorf("%s after %s", outcome(r), took)
		}
	})
}

func TestARunGoesOnAfterItsOwnerDiedInACorrectorPass(t *testing.T) {
	for _, effect := range []toolkit.Effect{toolkit.EffectKeyed, toolkit.EffectOpaque} {
		for _, die := range []string{"killed", "drained"} {
			t.Run(fmt.Sprint(effect, ", ", die), func(t *testing.T) {
				in(t, func(t *testing.T) {
					var effects atomic.Int32
					w := newWorld(t, tool{name: "send", effect: effect, run: func(_ context.Context, _ *toolkit.Call, in arguments) (toolkit.Result, error) {
						effects.Add(1)
						return text("sent " + in.Text), nil
					}})
					w.script = []reply{call(`send {"text":"one"}`, "send "+twice, "send [1]"), say("Done.")}
					w.corrector = tries(say(`{"text":"two"}`), hang("{"), say(`{"text":"three"}`))
					first := w.engine("a")
					r := first.ask("")
					time.Sleep(time.Second)
					synctest.Wait()
					if effects.Load() != 0 || len(w.corrections) != 2 {
						t.Fatalf("%d effects and %d passes before the end", effects.Load(), len(w.corrections))
					}
					if die == "killed" {
						first.crash()
					}
					first.stop()
					r = w.recovered("b").ended(r)
					if outcome(r) != "completed stop" || effects.Load() != 3 || len(w.corrections) != 3 {
						t.Errorf("%s, %d effects, %d passes", outcome(r), effects.Load(), len(w.corrections))
					}
					for i, want := range []string{"sent one", "sent two", "sent three"} {
						if c := w.toolCalls(r)[i]; !strings.Contains(c.ModelText, want) {
							t.Errorf("result %d is %s, want %s", i, c.ModelText, want)
						}
					}
					if log := w.log(r); log != "run_started usage usage usage tool_call tool_result message usage done" {
						t.Errorf("log = %s", log)
					}
					// What was known of the pass that was cut off is booked when the owner
					// could still write.
					want, booked := "done corrected abandoned corrected done", 4
					if die == "drained" {
						want, booked = "done corrected failed corrected done", 5
					}
					if got := w.modelCalls(r); got != want {
						t.Errorf("model calls are %s, want %s", got, want)
					}
					if n := w.count("usage_ledger", "kind = 'model'"); n != booked {
						t.Errorf("%d model calls were booked, want %d", n, booked)
					}
				})
			})
		}
	}
}

func TestACallIsNotCorrectedWhoseToolIsGoneAfterARestart(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t, echo)
		w.script, w.corrector = []reply{call("echo " + twice), say("Done.")}, hang("{")
		first := w.engine("a")
		r := first.ask("")
		synctest.Wait()
		first.crash()
		w.tools = registry.New(nil, registry.Policy{}, quiet())
		r = w.recovered("b").ended(r)
		if c := w.toolCalls(r)[0]; outcome(r) != "completed stop" || c.Reason != "UNKNOWN_TOOL" || len(w.corrections) != 1 {
			t.Errorf("%s, %s, %d passes", outcome(r), c.Reason, len(w.corrections))
		}
		if log := w.log(r); log != "run_started usage tool_call tool_result message usage done" {
			t.Errorf("log = %s", log)
		}
	})
}

func TestARunThatIsLostInACorrectorPassBooksWhatItUsed(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t, echo)
		w.script, w.corrector = []reply{call("echo " + twice), say("Done.")}, tries(hang("{"), say(`{"text":"b"}`))
		first := w.engine("a")
		r := first.ask("")
		synctest.Wait()
		if _, err := w.runs.FreeAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		r = w.engine("b").ended(r)
		time.Sleep(time.Minute) // the first finds out at its next renewal
		if n := w.count("usage_ledger", "kind = 'model'"); outcome(r) != "completed stop" || n != 4 {
			t.Errorf("%s, %d model calls were booked, want 4", outcome(r), n)
		}
	})
}
