package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/gate"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// counting is a tool of each effect class that counts how often it was run.

func counting(ran *[4]atomic.Int32) []tool {
	var out []tool
	for i, effect := range []toolkit.Effect{toolkit.EffectPure, toolkit.EffectKeyed, toolkit.EffectQueryable, toolkit.EffectOpaque} {
		out = append(out, tool{name: string(effect), effect: effect, run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
			ran[i].Add(1)
			return text("ran"), nil
		}})
	}
	return out
}

// dead plays an owner that dies: it writes what the test tells it to and is

// never heard of again.

type dead struct {
	w  *world
	st run.Started
}

func (w *world) dead() *dead {
	w.t.Helper()
	req := w.question("")
	req.Free = true
	st, err := w.runs.Start(context.Background(), req, run.Owner{ID: "own_dead"}, w.cfg.Limits)
	if err != nil {
		w.t.Fatal(err)
	}
	return &dead{w, st}
}

// plan stores an answer with calls, told as "name {arguments}".

func (d *dead) plan(calls ...string) []schema.ToolCall {
	d.w.t.Helper()
	t := &turn{Engine: New(d.w.cfg, Deps{Tools: d.w.tools, Now: time.Now}), job: &job{run: d.st.Run}}
	resp, _ := call(calls...)(context.Background(), provider.Request{}, func(provider.Delta) error { return nil })
	planned := t.plan(1, resp.Calls)
	mc := d.st.Call
	mc.Finish, mc.InputTokens = string(resp.Finish), 10
	if err := d.w.runs.FinishCall(context.Background(), d.st.Lease, mc, planned, callsEvent(1, planned)); err != nil {
		d.w.t.Fatal(err)
	}
	return planned
}

func (d *dead) dispatch(c *schema.ToolCall) {
	d.w.t.Helper()
	if err := d.w.runs.Dispatch(context.Background(), d.st.Lease, []*schema.ToolCall{c}); err != nil {
		d.w.t.Fatal(err)
	}
}

// result stores the result of a call; logged says that its turn has come.

func (d *dead) result(c *schema.ToolCall, logged bool) {
	d.w.t.Helper()
	d.dispatch(c)
	c.State, c.Result, c.ModelText, c.EndedAt = schema.CallDone, `{"text":"early"}`, "early", time.Now().UnixMilli()
	events := cutShort(roundOf(schema.ModelCall{Round: 1}, schema.ToolCall{State: schema.CallPlanned}, *c))
	events[0].GetToolResult().Results = events[0].GetToolResult().Results[1:]
	if !logged {
		events = nil
	}
	if err := d.w.runs.FinishTools(context.Background(), d.st.Lease, nil, []*schema.ToolCall{c}, events...); err != nil {
		d.w.t.Fatal(err)
	}
}

func TestARunGoesOnFromWhereverItsOwnerDied(t *testing.T) {
	for _, tc := range []struct {
		name string
		die  func(d *dead)
		log  string
		ran  [4]int32 // pure, keyed, queryable, opaque
		told []string // results that the model reads
	}{
		{"in its first model call", func(d *dead) {}, "run_started round_restarted tool_call usage tool_result message usage done", [4]int32{1}, []string{"ran"}},
		{"with calls planned", func(d *dead) { d.plan("pure", "keyed", "queryable", "opaque") },
			"run_started tool_call tool_result message usage done", [4]int32{1, 1, 1, 1}, []string{"ran", "ran", "ran", "ran"}},
		{"about to make them", func(d *dead) {
			calls := d.plan("pure", "keyed", "queryable", "opaque")
			for i := range calls {
				d.dispatch(&calls[i])
			}
		}, "run_started tool_call tool_result message usage done", [4]int32{1, 1, 1, 0}, []string{"ran", "ran", "ran", "OUTCOME_UNKNOWN"}},
		{"with some results, out of order", func(d *dead) {
			calls := d.plan("pure", "keyed", "queryable", "opaque")
			d.result(&calls[0], true)
			d.result(&calls[2], false)
			d.result(&calls[3], false)
		}, "run_started tool_call tool_result message usage done", [4]int32{0, 1, 0, 0}, []string{"early", "ran", "early", "early"}},
		{"with all results", func(d *dead) {
			calls := d.plan("pure", "opaque")
			d.result(&calls[0], true)
			d.result(&calls[1], true)
		}, "run_started tool_call tool_result message usage done", [4]int32{}, []string{"early", "early"}},
		{"in its second model call", func(d *dead) {
			calls := d.plan("pure")
			d.result(&calls[0], true)
			if _, err := d.w.runs.BeginCall(context.Background(), d.st.Lease, "ann", "m", 2); err != nil {
				d.w.t.Fatal(err)
			}
		}, "run_started tool_call tool_result round_restarted message usage done", [4]int32{}, []string{"early"}},
		{"with the answer stored", func(d *dead) {
			mc := d.st.Call
			mc.Text, mc.Finish = "Done.", string(provider.FinishStop)
			if err := d.w.runs.FinishCall(context.Background(), d.st.Lease, mc, nil, messageEvent(1, "Done.")); err != nil {
				d.w.t.Fatal(err)
			}
		}, "run_started message done", [4]int32{}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				var ran [4]atomic.Int32
				w := newWorld(t, counting(&ran)...)
				w.script = []reply{call("pure"), say("Done.")}
				d := w.dead()
				tc.die(d)
				e := w.recovered("b")
				r := e.ended(d.st.Run)
				if outcome(r) != "completed stop" || w.answer(r) != "Done." || r.Takeovers != 0 && tc.told != nil {
					t.Errorf("%s %q, takeovers %d", outcome(r), w.answer(r), r.Takeovers)
				}
				if got := w.log(r); got != tc.log {
					t.Errorf("log = %s\nwant  %s", got, tc.log)
				}
				for i := range ran {
					if got := ran[i].Load(); got != tc.ran[i] {
						t.Errorf("the tool of class %d ran %d times, want %d", i, got, tc.ran[i])
					}
				}
				if tc.told != nil {
					results := w.lastPrompt()[2:]
					for i, want := range tc.told {
						if !strings.Contains(results[i].Content, want) {
							t.Errorf("the model reads %q as result %d, want %q", results[i].Content, i, want)
						}
					}
				}
				if n, calls := w.count("usage_ledger", "kind = 'tool'"), w.count("tool_calls", "attempt > 0"); n != calls {
					t.Errorf("%d tool calls booked of %d that were made", n, calls)
				}
				if n, calls := w.count("usage_ledger", "kind = 'model'"), w.count("model_calls", "state = 'done'"); n != calls {
					t.Errorf("%d model calls booked of %d that were finished", n, calls)
				}
				// The history is one that a strict provider takes.
				w.script = []reply{say("Next.")}
				if next := e.ended(e.ask(r.ConversationID)); outcome(next) != "completed stop" {
					t.Errorf("the next run: %s", outcome(next))
				}
			})
		})
	}
}

// The owner dies when the tool has had its effect, before the result is stored.

func TestAnEffectThatWasMadeIsNotMadeAgain(t *testing.T) {
	for _, effect := range []toolkit.Effect{toolkit.EffectKeyed, toolkit.EffectQueryable, toolkit.EffectOpaque} {
		t.Run(string(effect), func(t *testing.T) {
			in(t, func(t *testing.T) {
				var effects atomic.Int32
				var first *engine
				w := newWorld(t, tool{name: "send", effect: effect, run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
					if effects.Add(1) == 1 {
						first.crash()
					}
					return text("sent"), nil
				}})
				w.script = []reply{call("send"), say("Done.")}
				first = w.engine("a")
				r := first.ask("")
				synctest.Wait()
				r = w.recovered("b").ended(r)
				if effects.Load() != 1 {
					t.Errorf("the effect happened %d times", effects.Load())
				}
				want := `"text":"sent"`
				if effect == toolkit.EffectOpaque {
					want = "OUTCOME_UNKNOWN"
				}
				if c := w.toolCalls(r)[0]; !strings.Contains(c.ModelText, want) {
					t.Errorf("the model is told %s, want %s", c.ModelText, want)
				}
				if n := w.count("usage_ledger", "kind = 'tool'"); n != 1 {
					t.Errorf("the call was booked %d times", n)
				}
			})
		})
	}
}

func TestACallThatGoesOnIsAttachedToByTheNextOwner(t *testing.T) {
	for name, lose := range map[string]func(w *world, e *engine){
		"when its owner is drained": func(w *world, e *engine) { e.stop() },
		"when its owner loses the lease": func(w *world, e *engine) {
			if _, err := w.runs.FreeAll(context.Background()); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				var effects atomic.Int32
				w := newWorld(t, tool{name: "job", effect: toolkit.EffectKeyed, edit: func(d *toolkit.Tool) { d.Timeout = time.Minute },
					run: func(ctx context.Context, _ *toolkit.Call, _ arguments) (toolkit.Result, error) {
						effects.Add(1)
						select {
						case <-time.After(40 * time.Second):
							return text("made"), nil
						case <-ctx.Done():
							return toolkit.Result{}, ctx.Err()
						}
					}}, tool{name: "short", run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
					time.Sleep(2 * time.Second) // its result is what tells an owner first that the lease is lost
					return text("x"), nil
				}})
				w.script = []reply{call("job", "short"), say("Done.")}
				first := w.engine("a")
				r := first.ask("")
				time.Sleep(time.Second)
				lose(w, first)
				r = w.engine("b").ended(r)
				if c := w.toolCalls(r)[0]; outcome(r) != "completed stop" || effects.Load() != 1 || !strings.Contains(c.ModelText, "made") {
					t.Errorf("%s, %d effects, result %s", outcome(r), effects.Load(), c.ModelText)
				}
			})
		})
	}
}

func TestATakeoverGivesARunNoMoreTime(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.script = []reply{hang("x ")}
		begun := time.Now()
		d := w.dead()
		time.Sleep(w.cfg.RunTimeout - time.Minute)
		if r := w.recovered("b").ended(d.st.Run); outcome(r) != "failed RUN_TIMEOUT" {
			t.Errorf("outcome = %s", outcome(r))
		}
		if took := time.Since(begun); took > w.cfg.RunTimeout+time.Second {
			t.Errorf("the run had %s", took)
		}
	})
}

func TestThreeTakeoversWithoutProgressParkTheRun(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.script = []reply{func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
			_, _ = say("I always crash ")(ctx, req, yield)
			ctx.Value(callerKey{}).(*engine).crash()
			return provider.Response{}, &provider.Error{Kind: provider.KindBadRequest, Message: "x"}
		}}
		r := w.engine("a").ask("")
		synctest.Wait()
		for i := range run.MaxTakeovers {
			w.recovered(fmt.Sprint("b", i))
			synctest.Wait()
			if got := w.run(r.ID); got.Status != schema.RunRunning || got.Takeovers != i+1 {
				t.Fatalf("after takeover %d: %s, takeovers %d", i+1, got.Status, got.Takeovers)
			}
		}
		asked := len(w.requests)
		e := w.recovered("c")
		synctest.Wait()
		got := w.run(r.ID)
		if got.Status != schema.RunWaiting || got.WaitingFor != schema.WaitStuckRun || len(w.requests) != asked {
			t.Errorf("run = %s %s, the model was asked %d times more", got.Status, got.WaitingFor, len(w.requests)-asked)
		}
		if log := w.log(r); !strings.HasSuffix(log, "round_restarted notice:stuck") {
			t.Errorf("log = %s", log)
		}
		time.Sleep(time.Minute) // nobody takes it
		if got := w.run(r.ID); got.Status != schema.RunWaiting {
			t.Errorf("run = %s", got.Status)
		}
		if got, err := e.Cancel(t.Context(), "ann", r.ID); err != nil || got.Status != schema.RunCancelled {
			t.Errorf("cancelling it: %+v, %v", got, err)
		}
		w.script = []reply{say("Next.")}
		if next := e.ended(e.ask(r.ConversationID)); outcome(next) != "completed stop" {
			t.Errorf("the next run: %s", outcome(next))
		}
	})
}

func TestACallWhoseToolIsGoneAfterARestartIsUnknown(t *testing.T) {
	in(t, func(t *testing.T) {
		var ran [4]atomic.Int32
		w := newWorld(t, counting(&ran)...)
		w.script = []reply{nil, say("Done.")}
		d := w.dead()
		calls := d.plan("opaque", "pure", "keyed")
		for i := range calls {
			d.dispatch(&calls[i])
		}
		w.tools = registry.New(nil, registry.Policy{}, quiet()) // its provider does not answer yet
		r := w.recovered("b").ended(d.st.Run)
		for i, want := range []string{"OUTCOME_UNKNOWN", gate.ReasonUnknownTool, "OUTCOME_UNKNOWN"} {
			if c := w.toolCalls(r)[i]; !strings.Contains(c.ModelText, want) || c.Reason != want {
				t.Errorf("%s: %s %s, want %s", c.Name, c.Reason, c.ModelText, want)
			}
		}
	})
}
