package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

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
		if usage.ModelCalls != 2 || usage.InputTokens != 20 || usage.OutputTokens != 4 {
			t.Errorf("usage of the run = %v", usage)
		}
		if told, err := w.runs.Used(t.Context(), r.ID); err != nil || !proto.Equal(told[r.ID], usage) {
			t.Errorf("usage read later = %v, %v; told at the end %v", told[r.ID], err, usage)
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
