package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestAnAnswerWithoutTools(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.script = []reply{say("Hello there.")}
		r := w.engine("a").finish()
		if outcome(r) != "completed stop" || w.answer(r) != "Hello there." {
			t.Errorf("%s: %q", outcome(r), w.answer(r))
		}
		if got := w.log(r); got != "run_started message usage done" {
			t.Errorf("log = %s", got)
		}
	})
}

func TestCallsOfOneAnswerRunInBoundedParallelAndAreAnsweredInOrder(t *testing.T) {
	in(t, func(t *testing.T) {
		var now, most atomic.Int32
		slow := tool{name: "slow", run: func(ctx context.Context, _ *toolkit.Call, in arguments) (toolkit.Result, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Duration(10-in.N) * time.Second) // the first take longest
			return text(fmt.Sprint(in.N)), nil
		}}
		w := newWorld(t, slow)
		w.script = []reply{
			call(`slow {"n":1}`, `slow {"n":2}`, `slow {"n":3}`, `slow {"n":4}`, `slow {"n":5}`, `slow {"n":6}`, `slow {"n":7}`),
			say("Done."),
		}
		r := w.engine("a").finish()
		if outcome(r) != "completed stop" {
			t.Errorf("outcome = %s", outcome(r))
		}
		if most.Load() != 4 {
			t.Errorf("%d calls ran at once, want 4", most.Load())
		}
		for i, m := range w.lastPrompt()[2:] {
			if want := fmt.Sprintf(`"text":"%d"`, i+1); !strings.Contains(m.Content, want) {
				t.Errorf("result %d = %s, want %s", i, m.Content, want)
			}
		}
	})
}

func TestWhatCannotBeCalledIsAnsweredToTheModel(t *testing.T) {
	for _, tc := range []struct{ name, call, want string }{
		{"an unknown tool with a near name", `Ech-o {}`, `Did you mean echo?`},
		{"an unknown tool", `nothing_like_it {}`, `The tools are: echo.`},
		{"arguments that are not JSON", `echo {"text":`, `BAD_ARGUMENTS`},
		{"arguments that do not fit", `echo {"text":{"a":1}}`, `BAD_ARGUMENTS`},
		{"arguments that nobody asked for", `echo {"txt":"a"}`, `BAD_ARGUMENTS`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t, echo)
				w.script = []reply{call(tc.call), say("I see.")}
				r := w.engine("a").finish()
				if outcome(r) != "completed stop" {
					t.Errorf("outcome = %s", outcome(r))
				}
				if m := w.lastPrompt()[2]; !strings.Contains(m.Content, tc.want) {
					t.Errorf("the model is told %s, want %s", m.Content, tc.want)
				}
				if c := w.toolCalls(r)[0]; !c.IsError || c.Attempt != 0 || c.State != schema.CallDone {
					t.Errorf("call = %+v", c)
				}
				if w.count("usage_ledger", "kind = 'tool'") != 0 {
					t.Error("a call that was never made was booked")
				}
			})
		})
	}
}

func TestAToolThatNeedsAPersonIsDenied(t *testing.T) {
	in(t, func(t *testing.T) {
		ran := false
		w := newWorld(t, tool{
			name: "write", effect: toolkit.EffectOpaque, edit: func(d *toolkit.Tool) { d.Sink = toolkit.SinkWrite },
			run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
				ran = true
				return text(""), nil
			},
		})
		w.script = []reply{call("write"), say("I may not.")}
		r := w.engine("a").finish()
		if c := w.toolCalls(r)[0]; ran || c.State != schema.CallDenied || c.Reason != "APPROVAL_UNAVAILABLE" || !strings.Contains(c.ModelText, "auto_approve") {
			t.Errorf("ran: %v, call = %+v", ran, c)
		}
	})
}

func TestAToolHasADeadline(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t, tool{
			name: "slow", edit: func(d *toolkit.Tool) { d.Timeout = 7 * time.Second },
			run: func(ctx context.Context, _ *toolkit.Call, _ arguments) (toolkit.Result, error) {
				<-ctx.Done()
				return toolkit.Result{}, ctx.Err()
			},
		})
		w.script = []reply{call("slow"), say("Too slow.")}
		begun := time.Now()
		r := w.engine("a").finish()
		if c := w.toolCalls(r)[0]; !c.IsError || !strings.Contains(c.ModelText, "TIMEOUT") {
			t.Errorf("call = %+v", c)
		}
		if took := time.Since(begun); took < 7*time.Second || took > 11*time.Second {
			t.Errorf("took %s, want about the tool's 7s", took)
		}
	})
}

func TestMoreCallsThanAnAnswerMayHaveAreRefused(t *testing.T) {
	in(t, func(t *testing.T) {
		var made atomic.Int32
		w := newWorld(t, tool{name: "count", run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
			made.Add(1)
			return text("x"), nil
		}})
		var calls []string
		for i := range 20 {
			calls = append(calls, fmt.Sprintf(`count {"n":%d}`, i))
		}
		w.script = []reply{call(calls...), say("Enough.")}
		r := w.engine("a").finish()
		if made.Load() != 16 {
			t.Errorf("%d calls were made, want 16", made.Load())
		}
		for i, c := range w.toolCalls(r) {
			if refused := c.Reason == "TOO_MANY_CALLS"; refused != (i >= 16) {
				t.Errorf("call %d: %s %s", i, c.State, c.Reason)
			}
		}
	})
}

func TestLargeResultsAreCutForTheModelAndKeptWhole(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t, tool{name: "big", run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
			return text(strings.Repeat("é", 100_000)), nil
		}})
		w.script = []reply{call("big"), say("Read.")}
		r := w.engine("a").finish()
		c := w.toolCalls(r)[0]
		whole, err := w.results.Whole(t.Context(), c)
		if err != nil || !strings.Contains(whole, strings.Repeat("é", 100_000)) {
			t.Errorf("the whole result has %d bytes, %v", len(whole), err)
		}
		if !c.Truncated || c.ResultBlob == "" || len(c.Result) > 8192 || !strings.Contains(c.ModelText, fmt.Sprintf("read_result(result_id=%q, offset=24000)", c.ID)) {
			t.Errorf("truncated %v, blob %q, result of %d bytes, told: %s", c.Truncated, c.ResultBlob, len(c.Result), c.ModelText[len(c.ModelText)-150:])
		}
		for _, e := range w.events(r) {
			for _, res := range e.GetToolResult().GetResults() {
				if !res.Truncated || res.ResultId != c.ID {
					t.Errorf("result event: truncated %v, id %s", res.Truncated, res.ResultId)
				}
			}
		}
	})
}

func TestOriginsFlowFromResultsToTheAnswerAndTheNextRun(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t, tool{name: "fetch", run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
			r := text("from outside")
			r.Origins = []string{"fetch:example.com"}
			return r, nil
		}}, tool{name: "vague", edit: func(d *toolkit.Tool) { d.OutputUntrusted = true }, run: echo.run})
		w.script = []reply{call("fetch", "vague"), say("So it says.")}
		e := w.engine("a")
		r := e.finish()
		want := "[fetch:example.com vague:*]"
		m, _ := w.convs.Message(t.Context(), "ann", r.MessageID)
		if fmt.Sprint(m.Origins) != want || fmt.Sprint(r.Origins) != want {
			t.Errorf("origins of the answer %v, of the run %v, want %s", m.Origins, r.Origins, want)
		}
		w.script = []reply{say("Next.")}
		next := e.ended(e.ask(r.ConversationID))
		if fmt.Sprint(next.Origins) != want {
			t.Errorf("origins of the next run %v, want %s", next.Origins, want)
		}
		if clean := e.finish(); len(clean.Origins) != 0 {
			t.Errorf("origins of another conversation %v", clean.Origins)
		}
	})
}
