package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// refuses makes the database refuse a row whose column holds the word poison,
// whatever else is written with it.
func (w *world) refuses(table, column string) {
	w.t.Helper()
	err := w.db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
		for _, when := range []string{"INSERT", "UPDATE"} {
			_, err := tx.NewRaw("CREATE TRIGGER refuse_" + table + "_" + when + " BEFORE " + when + " ON " + table +
				" WHEN instr(NEW." + column + ", 'poison') > 0 BEGIN SELECT RAISE(ABORT, 'refused'); END").Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestARunWhoseContentIsRefusedByTheDatabaseEndsAtOnce(t *testing.T) {
	over := &provider.Error{Kind: provider.KindBadRequest, Message: "It says poison."}
	think := func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		if err := yield(provider.Delta{Kind: provider.Reasoning, Text: "\xff"}); err != nil {
			return provider.Response{}, err
		}
		resp, err := say("Yes.")(ctx, req, yield)
		resp.Reasoning = "\xff"
		return resp, err
	}
	for _, tc := range []struct {
		name          string
		table, column string // which refuse; none: an event cannot be encoded
		script        []reply
		log           string
		calls         int
	}{
		{"the answer", "messages", "content", []reply{say("a poison b")}, "run_started message usage error", 0},
		{"the text of a round", "model_calls", "text", []reply{say("a poison b")}, "run_started message error", 0},
		{"the text of a round and of the answer", "messages", "content", []reply{fail("a poison b", over)}, "run_started round_restarted error", 0},
		{"the words of a failure", "model_calls", "error", []reply{fail("", over)}, "run_started error", 0},
		{"arguments", "tool_calls", "arguments", []reply{call(`echo {"text":"poison"}`)}, "run_started error", 0},
		{"a result", "tool_calls", "result", []reply{call(`echo {"text":"a"}`, `echo {"text":"poison"}`, `echo {"text":"b"}`), say("x")},
			"run_started tool_call usage tool_result error", 3},
		{"the first result", "tool_calls", "result", []reply{call(`echo {"text":"poison"}`, `echo {"text":"b"}`), say("x")},
			"run_started tool_call usage tool_result error", 2},
		{"text that is not UTF-8", "", "", []reply{say("a \xff b")}, "run_started round_restarted error", 0},
		{"reasoning that is not UTF-8", "", "", []reply{think}, "run_started round_restarted error", 0},
		{"a name that is not UTF-8", "", "", []reply{call("t\xffl")}, "run_started error", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t, echo)
				if tc.table != "" {
					w.refuses(tc.table, tc.column)
				}
				w.script = tc.script
				begun := time.Now()
				e := w.engine("a")
				r := e.finish()
				if outcome(r) != "failed INTERNAL" && outcome(r) != "failed MODEL_REFUSED_REQUEST" || w.log(r) != tc.log || len(w.requests) != 1 || r.Takeovers != 0 {
					t.Errorf("%s after %d model calls and %d takeovers: %s\nwant %s", outcome(r), len(w.requests), r.Takeovers, w.log(r), tc.log)
				}
				if took := time.Since(begun); took > time.Second {
					t.Errorf("it took %s", took)
				}
				calls := w.toolCalls(r)
				if len(calls) != tc.calls {
					t.Errorf("%d calls, want %d", len(calls), tc.calls)
				}
				for _, c := range calls { // those beside the refused one may have come to their end
					refused := strings.Contains(c.Arguments, "poison")
					if !c.Terminal() || refused && c.State != schema.CallCancelled {
						t.Errorf("call %s is %s", c.Arguments, c.State)
					}
				}
				if last := w.events(r)[len(w.events(r))-1].GetError(); last.GetReason() == "" || last.TraceId != r.TraceID {
					t.Errorf("error event = %v", last)
				}
				w.script = []reply{say("Next.")}
				if next := e.ended(e.ask(r.ConversationID)); outcome(next) != "completed stop" || next.Status != schema.RunCompleted {
					t.Errorf("the next run: %s", outcome(next))
				}
			})
		})
	}
}

func TestEveryCallTellsTheTrace(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t, echo, broken)
		w.cfg.MaxCalls = 4
		w.script = []reply{call(`echo {"text":"a"}`, "nothing", `echo {"text":7`, "broken", `echo {"text":"one too many"}`), say("Done.")}
		e := w.engine("a")
		req := w.question("")
		req.TraceID, req.TraceParent = strings.Repeat("ab", 16), "00-"+strings.Repeat("ab", 16)+"-"+strings.Repeat("cd", 8)+"-01"
		st, err := e.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		r := e.ended(st.Run)
		calls := w.toolCalls(r)
		if len(calls) != 5 {
			t.Fatalf("%d calls", len(calls))
		}
		for i, c := range calls {
			if c.TraceID != req.TraceID {
				t.Errorf("call %d (%s, %s %s) has the trace %q", i, c.Name, c.State, c.Reason, c.TraceID)
			}
		}
		for _, ev := range w.events(r) {
			for _, res := range ev.GetToolResult().GetResults() {
				if res.TraceId != req.TraceID {
					t.Errorf("the result of %s has the trace %q", res.Name, res.TraceId)
				}
			}
		}
	})
}
