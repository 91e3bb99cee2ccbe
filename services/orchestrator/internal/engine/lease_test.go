package engine

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func TestAnOwnerThatLostItsLeaseWritesNothingMore(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t, echo)
		paused := make(chan struct{})
		w.script = []reply{tries(
			func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
				_, _ = say("old ")(ctx, req, yield)
				<-paused // like a process that is stopped: it does not see its context either
				return say("old answer")(ctx, req, yield)
			},
			say("New answer."),
		)}
		first := w.engine("a")
		r := first.ask("")
		synctest.Wait()
		if _, err := w.runs.FreeAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := w.engine("b")
		r = second.ended(r)
		close(paused)
		synctest.Wait()
		if got := w.log(r); w.answer(r) != "New answer." || got != "run_started round_restarted message usage done" {
			t.Errorf("answer %q, log %s", w.answer(r), got)
		}
		if n := len(first.jobs()); n != 0 {
			t.Errorf("the first owner still has %d runs", n)
		}
	})
}

func TestDrainingLetsARunEndAndReleasesWhatDoesNot(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		slow := func(d time.Duration) reply {
			return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
				select {
				case <-time.After(d):
					return say("Done.")(ctx, req, yield)
				case <-ctx.Done():
					return provider.Response{}, &provider.Error{Kind: provider.KindCancelled, Err: ctx.Err()}
				}
			}
		}
		w.script = []reply{tries(slow(3*time.Second), slow(time.Minute), say("Done."))}
		first := w.engine("a")
		quick, long := first.ask(""), first.ask("")
		synctest.Wait()
		begun := time.Now()
		first.stop()
		if d := time.Since(begun); d < w.cfg.DrainTime || d > w.cfg.DrainTime+time.Second {
			t.Errorf("draining took %s, want %s", d, w.cfg.DrainTime)
		}
		_, err := first.Start(t.Context(), w.question(""))
		if status.Code(err) != codes.Unavailable {
			t.Errorf("a message to an engine that has ended: %v", err)
		}
		ended := []string{w.run(quick.ID).Status, w.run(long.ID).Status}
		slices.Sort(ended)
		if fmt.Sprint(ended) != "[completed running]" {
			t.Errorf("after draining the runs are %v", ended)
		}
		begun = time.Now()
		second := w.engine("b")
		for _, r := range []schema.Run{quick, long} {
			if r = second.ended(r); outcome(r) != "completed stop" || r.Takeovers != 0 {
				t.Errorf("%s, takeovers %d", outcome(r), r.Takeovers)
			}
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("the released run waited %s", d)
		}
	})
}

func TestALeaseIsKeptForAsLongAsTheRunGoesOn(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		var asked atomic.Int32
		w.script = []reply{func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
			asked.Add(1)
			time.Sleep(5 * time.Minute)
			return say("At last.")(ctx, req, yield)
		}}
		first := w.engine("a")
		w.engine("b") // looks for runs without an owner all the time
		r := first.finish()
		if outcome(r) != "completed stop" || asked.Load() != 1 || r.LeaseEpoch != 1 {
			t.Errorf("%s, the model was asked %d times, epoch %d", outcome(r), asked.Load(), r.LeaseEpoch)
		}
	})
}

func TestLeasesThatCannotBeRenewedAreGivenUp(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.script = []reply{tries(hang("old "), say("New."))}
		first := w.engine("a")
		r := first.ask("")
		time.Sleep(time.Second)
		first.crash()
		second := w.engine("b") // takes over when the lease lapses
		r = second.ended(r)
		if outcome(r) != "completed stop" || w.answer(r) != "New." {
			t.Errorf("%s %q", outcome(r), w.answer(r))
		}
		time.Sleep(30 * time.Second)
		if n := len(first.jobs()); n != 0 {
			t.Errorf("the first owner still drives %d runs", n)
		}
	})
}

func TestADeletedConversationEndsItsRunWithoutATrace(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.script = []reply{hang("x ")}
		e := w.engine("a")
		r := e.ask("")
		synctest.Wait()
		if err := w.convs.Delete(t.Context(), "ann", r.ConversationID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(run.RenewEvery + time.Second)
		if n := len(e.jobs()); n != 0 {
			t.Errorf("%d runs go on", n)
		}
		for _, table := range []string{"runs", "messages", "events", "model_calls"} {
			if n := w.count(table, "1=1"); n != 0 {
				t.Errorf("%d rows in %s", n, table)
			}
		}
	})
}
