package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/taint"
)

// writes is every method that writes under a lease.
var writes = []struct {
	name string
	do   func(w *world, st Started) error
}{
	{"Commit", func(w *world, st Started) error { return w.Commit(ctx, st.Lease, nil, note("x")) }},
	{"BeginCall", func(w *world, st Started) error {
		_, err := w.BeginCall(ctx, st.Lease, "ann", "m", 2, note("x"))
		return err
	}},
	{"FailCall", func(w *world, st Started) error {
		mc := st.Call
		mc.InputTokens = 5
		return w.FailCall(ctx, st.Lease, mc, note("x"))
	}},
	{"FinishCall", func(w *world, st Started) error {
		return w.FinishCall(ctx, st.Lease, st.Call, []schema.ToolCall{planned(st, "new", 0)}, note("x"))
	}},
	{"Correct", func(w *world, st Started) error {
		c, mc := planned(st, "old", 0), st.Call
		c.ArgsCanonical, mc.State, mc.InputTokens = "{}", schema.ModelCallCorrected, 5
		return w.Correct(ctx, st.Lease, &mc, c, note("x"))
	}},
	{"Correct without a model call", func(w *world, st Started) error {
		return w.Correct(ctx, st.Lease, nil, planned(st, "old", 0))
	}},
	{"Dispatch", func(w *world, st Started) error {
		c := planned(st, "old", 0)
		return w.Dispatch(ctx, st.Lease, []*schema.ToolCall{&c})
	}},
	{"FinishTools", func(w *world, st Started) error {
		c := planned(st, "old", 0)
		c.State, c.Attempt = schema.CallDone, 1
		return w.FinishTools(ctx, st.Lease, taint.New("x"), []*schema.ToolCall{&c}, note("x"))
	}},
	{"Finish", func(w *world, st Started) error {
		_, err := w.Finish(ctx, st.Lease, st.Run, End{Status: schema.RunCompleted, Usage: &pb.Usage{}})
		return err
	}},
	{"Park", func(w *world, st Started) error { return w.Park(ctx, st.Lease, schema.WaitStuckRun) }},
	{"Release", func(w *world, st Started) error { return w.Release(ctx, st.Lease) }},
}

func planned(st Started, id string, ordinal int) schema.ToolCall {
	return schema.ToolCall{
		ID: id + st.Run.ID, RunID: st.Run.ID, ConversationID: st.Run.ConversationID, UserID: st.Run.UserID, Round: 1, Ordinal: ordinal,
		Name: "tool", EffectKey: id + st.Run.ID, State: schema.CallPlanned,
	}
}

func TestALostLeaseWritesNothing(t *testing.T) {
	lost := map[string]func(w *world, st Started){
		"another owner took it": func(w *world, st Started) {
			w.advance(LeaseTime + time.Millisecond)
			if _, _, err := w.Claim(ctx, st.Run.ID, bob, limits); err != nil {
				w.t.Fatal(err)
			}
		},
		"the same process took it again": func(w *world, st Started) {
			w.advance(LeaseTime + time.Millisecond)
			if _, _, err := w.Claim(ctx, st.Run.ID, alice, limits); err != nil {
				w.t.Fatal(err)
			}
		},
		"it was given back": func(w *world, st Started) {
			if err := w.Release(ctx, st.Lease); err != nil {
				w.t.Fatal(err)
			}
		},
		"it was freed": func(w *world, _ Started) {
			if _, err := w.FreeAll(ctx); err != nil {
				w.t.Fatal(err)
			}
		},
		"the run was parked": func(w *world, st Started) {
			if err := w.Park(ctx, st.Lease, schema.WaitStuckRun); err != nil {
				w.t.Fatal(err)
			}
		},
		"the run has ended": func(w *world, st Started) { w.finish(st) },
		"the conversation was deleted": func(w *world, st Started) {
			if err := w.conversations.Delete(ctx, st.Run.UserID, st.Run.ConversationID); err != nil {
				w.t.Fatal(err)
			}
		},
	}
	for why, lose := range lost {
		w := newWorld(t)
		for _, write := range writes {
			t.Run(write.name+" after "+why, func(t *testing.T) {
				w.t = t
				st := w.ask("user of " + write.name)
				if err := w.FinishCall(ctx, st.Lease, st.Call, []schema.ToolCall{planned(st, "old", 0)}); err != nil {
					t.Fatal(err)
				}
				lose(w, st)
				before := w.dump()
				if err := write.do(w, st); !errors.Is(err, ErrFenced) {
					t.Errorf("err = %v, want ErrFenced", err)
				}
				if after := w.dump(); after != before {
					t.Errorf("something was written:\n%s\nbefore:\n%s", after, before)
				}
			})
		}
	}
}

// dump is all rows that a run can change.
func (w *world) dump() string {
	var out string
	for _, table := range []string{"conversations", "messages", "runs", "model_calls", "tool_calls", "events", "usage_ledger"} {
		var rows []map[string]any
		if err := w.DB.Read().NewSelect().Table(table).OrderExpr("1, 2").Scan(ctx, &rows); err != nil {
			w.t.Fatal(err)
		}
		out += fmt.Sprintln(table, rows)
	}
	return out
}

func TestEventsAreInOrderAndWithoutGapsUnderConcurrentCommits(t *testing.T) {
	w := newWorld(t)
	st := w.ask("ann")
	stop, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { // a reader never sees a number before the one below it
		last := 0
		for stop.Err() == nil {
			events, err := w.Events(ctx, st.Run.ID, last, 1000)
			if err != nil {
				t.Error(err)
				return
			}
			for _, e := range events {
				if int(e.Seq) != last+1 {
					t.Errorf("read event %d after event %d", e.Seq, last)
				}
				last = int(e.Seq)
			}
		}
	})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for j := range 10 {
				events := []*pb.RunEvent{note("a"), note("b"), note("c")}[:1+(i+j)%3]
				err := w.Commit(ctx, st.Lease, nil, events...)
				if err != nil {
					t.Error(err)
				}
				for k := 1; k < len(events); k++ {
					if events[k].Seq != events[k-1].Seq+1 {
						t.Errorf("events of one commit have the numbers %d, %d", events[k-1].Seq, events[k].Seq)
					}
				}
			}
		})
	}
	wg.Wait()
	cancel()
	reading.Wait()
	if n := len(w.events(st.Run.ID)); n != w.get(st).LastSeq {
		t.Errorf("%d events, last number %d", n, w.get(st).LastSeq)
	}
}

func TestAFailedChangeTakesNoSequenceNumber(t *testing.T) {
	w := newWorld(t)
	st := w.ask("ann")
	c := planned(st, "twice", 0)
	calls := []schema.ToolCall{c, c}
	if err := w.FinishCall(ctx, st.Lease, st.Call, calls, note("x")); err == nil {
		t.Fatal("two calls with one key were stored")
	}
	if err := w.Commit(ctx, st.Lease, nil, note("y")); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(w.events(st.Run.ID)); got != "[run_started notice]" {
		t.Errorf("events = %s", got)
	}
	if w.count("usage_ledger", "1=1") != 0 {
		t.Error("usage of the failed change was booked")
	}
}
