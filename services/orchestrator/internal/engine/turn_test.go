package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
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

func TestFailedModelCalls(t *testing.T) {
	over := &provider.Error{Kind: provider.KindOverloaded, Message: "Overloaded."}
	bad := &provider.Error{Kind: provider.KindBadRequest, Message: "Bad request.", Detail: "no such field"}
	quota := &provider.Error{Kind: provider.KindRateLimited, Message: "Slow down.", RetryAfter: 30 * time.Second}
	later := &provider.Error{Kind: provider.KindRateLimited, Message: "Slow down.", RetryAfter: time.Hour}
	empty := func(context.Context, provider.Request, func(provider.Delta) error) (provider.Response, error) {
		return provider.Response{Finish: provider.FinishStop}, nil
	}
	for _, tc := range []struct {
		name          string
		reply         reply
		want, content string
		log           string
		requests      int
		least, most   time.Duration
	}{
		{"one that may pass is made again and its text dropped", tries(fail("lost text ", over), say("Kept.")), "completed stop", "Kept.",
			"run_started notice:retry round_restarted message usage done", 2, 250 * time.Millisecond, time.Second},
		{"without text nothing is restarted", tries(fail("", over), say("Kept.")), "completed stop", "Kept.",
			"run_started notice:retry message usage done", 2, 250 * time.Millisecond, time.Second},
		{"it is made three times at most", fail("part", over), "failed MODEL_OVERLOADED", "part",
			"run_started notice:retry round_restarted notice:retry round_restarted message error", 3, 0, 3 * time.Second},
		{"one that will not pass fails at once", fail("part", bad), "failed MODEL_REFUSED_REQUEST", "part",
			"run_started message error", 1, 0, 0},
		{"the provider's wait is kept", tries(fail("", quota), say("Kept.")), "completed stop", "Kept.",
			"run_started notice:retry message usage done", 2, 30 * time.Second, 31 * time.Second},
		{"nobody waits for an hour", fail("", later), "failed MODEL_RATE_LIMITED", "",
			"run_started error", 1, 0, 0},
		{"an empty answer is asked for once more", tries(empty, say("Kept.")), "completed stop", "Kept.",
			"run_started notice:retry message usage done", 2, 0, time.Second},
		{"two empty answers are a failure", empty, "failed EMPTY_ANSWER", "",
			"run_started notice:retry error", 2, 0, time.Second},
		{"a panic ends its run alone", func(context.Context, provider.Request, func(provider.Delta) error) (provider.Response, error) {
			panic("x")
		},
			"failed INTERNAL", "", "run_started error", 1, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t, echo)
				w.script = []reply{tc.reply}
				begun := time.Now()
				e := w.engine("a")
				r := e.finish()
				if outcome(r) != tc.want || w.answer(r) != tc.content || w.log(r) != tc.log {
					t.Errorf("%s %q\n%s\nwant %s %q\n%s", outcome(r), w.answer(r), w.log(r), tc.want, tc.content, tc.log)
				}
				if took := time.Since(begun); took < tc.least || took > tc.most {
					t.Errorf("took %s, want %s to %s", took, tc.least, tc.most)
				}
				if len(w.requests) != tc.requests {
					t.Errorf("%d requests, want %d", len(w.requests), tc.requests)
				}
				// The conversation goes on afterwards.
				w.script = []reply{say("Next.")}
				if next := e.ended(e.ask(r.ConversationID)); outcome(next) != "completed stop" {
					t.Errorf("the next run: %s", outcome(next))
				}
			})
		})
	}
}

func TestWhatFailedCallsUsedIsBooked(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.script = []reply{tries(fail("lost", &provider.Error{Kind: provider.KindTruncated, Message: "Cut."}), say("Kept."))}
		r := w.engine("a").finish()
		if n := w.count("usage_ledger", "kind = 'model' AND input_tokens = 10"); n != 2 {
			t.Errorf("%d model calls were booked, want 2", n)
		}
		usage := w.events(r)[len(w.events(r))-1].GetDone().Usage
		if usage.ModelCalls != 1 || usage.InputTokens != 10 {
			t.Errorf("usage of the run's rounds = %v", usage)
		}
	})
}

func TestAnAnswerThatIsCutForItsLengthSaysSo(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.script = []reply{func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
			resp, err := say("Long text")(ctx, req, yield)
			resp.Finish = provider.FinishLength
			return resp, err
		}}
		r := w.engine("a").finish()
		if outcome(r) != "completed length" || w.log(r) != "run_started message usage notice:length done" {
			t.Errorf("%s: %s", outcome(r), w.log(r))
		}
	})
}

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
						want = schema.CallCancelled
					}
					if c.State != want {
						t.Errorf("call %d (%s) is %s, want %s", i, c.Name, c.State, want)
					}
				}
				if tc.name == "while the model writes" && w.count("usage_ledger", "input_tokens = 10") != 1 {
					t.Error("what the cut call used was not booked")
				}
				w.script = []reply{say("Next.")}
				if next := e.ended(e.ask(r.ConversationID)); outcome(next) != "completed stop" {
					t.Errorf("the next run: %s", outcome(next))
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

func TestAModelThatIsNotConfiguredAnyMoreFailsTheRun(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		req := w.question("")
		req.Model = "gone"
		e := w.engine("a")
		st, err := e.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if r := e.ended(st.Run); outcome(r) != "failed MODEL_NOT_CONFIGURED" || !strings.Contains(r.ErrorMessage, `"gone"`) {
			t.Errorf("%s: %s", outcome(r), r.ErrorMessage)
		}
	})
}

func TestAStoreThatFailsEndsTheRunWithoutAHang(t *testing.T) {
	for _, at := range []string{"model", "tool"} {
		t.Run("during a "+at+" call", func(t *testing.T) {
			in(t, func(t *testing.T) {
				var e *engine
				w := newWorld(t, tool{name: "t", run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
					e.crash()
					return text("x"), nil
				}})
				w.script = []reply{call("t"), say("x")}
				if at == "model" {
					w.script = []reply{func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
						e.crash()
						return say("x")(ctx, req, yield)
					}}
				}
				e = w.engine("a")
				e.ask("")
				synctest.Wait()
				if n := len(e.jobs()); n != 0 {
					t.Errorf("%d runs hang", n)
				}
				if _, err := e.Cancel(t.Context(), "ann", "run_x"); err == nil || errors.Is(err, context.Canceled) {
					t.Errorf("err = %v", err)
				}
			})
		})
	}
}
