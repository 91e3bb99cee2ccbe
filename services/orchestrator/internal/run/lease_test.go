package run

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func (w *world) claimable(n int) []string {
	w.t.Helper()
	ids, err := w.Claimable(ctx, limits, n)
	if err != nil {
		w.t.Fatal(err)
	}
	return ids
}

func TestOnlyARunWithoutAnOwnerCanBeClaimed(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(w *world) Started
		want bool
		took int // takeovers after the claim
	}{
		{"running with a lease", func(w *world) Started { return w.ask("ann") }, false, 0},
		{"running with a lease that lapsed", func(w *world) Started {
			st := w.ask("ann")
			w.advance(LeaseTime + time.Millisecond)
			return st
		}, true, 1},
		{"freed", func(w *world) Started {
			st := w.ask("ann")
			_, _ = w.FreeAll(ctx)
			return st
		}, true, 1},
		{"released", func(w *world) Started {
			st := w.ask("ann")
			_ = w.Release(ctx, st.Lease)
			return st
		}, true, 0},
		{"queued", func(w *world) Started {
			return w.start(Request{UserID: "ann", ConversationID: w.conversation("ann"), Content: "x"})
		}, true, 0},
		{"queued behind four running", func(w *world) Started {
			for range 4 {
				w.ask("ann")
			}
			return w.ask("ann")
		}, false, 0},
		{"waiting", func(w *world) Started {
			st := w.ask("ann")
			_ = w.Park(ctx, st.Lease, schema.WaitStuckRun)
			return st
		}, false, 0},
		{"ended", func(w *world) Started {
			st := w.ask("ann")
			w.finish(st)
			return st
		}, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			st := tc.make(w)
			if got := slices.Contains(w.claimable(10), st.Run.ID); got != tc.want {
				t.Errorf("listed as claimable: %v, want %v", got, tc.want)
			}
			r, l, err := w.Claim(ctx, st.Run.ID, bob, limits)
			if (err == nil) != tc.want || (err != nil && !errors.Is(err, ErrFenced)) {
				t.Fatalf("err = %v", err)
			}
			if !tc.want {
				return
			}
			if r.Status != schema.RunRunning || r.LeaseOwner != bob.ID || r.Takeovers != tc.took {
				t.Errorf("run = %+v", r)
			}
			if err := w.Commit(ctx, l, nil, note("mine")); err != nil {
				t.Errorf("the new owner: %v", err)
			}
		})
	}
	w := newWorld(t)
	if _, _, err := w.Claim(ctx, "run_x", bob, limits); !errors.Is(err, ErrFenced) {
		t.Errorf("a run that is not there: %v", err)
	}
}

func TestOfConcurrentClaimsExactlyOneWins(t *testing.T) {
	w := newWorld(t)
	st := w.ask("ann")
	w.advance(LeaseTime + time.Millisecond)
	var wg sync.WaitGroup
	won := make(chan Lease, 16)
	for range cap(won) {
		wg.Go(func() {
			if _, l, err := w.Claim(ctx, st.Run.ID, bob, limits); err == nil {
				won <- l
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Errorf("%d claims won", len(won))
	}
}

func TestRunsWithoutAnOwnerComeBeforeQueuedOnes(t *testing.T) {
	w := newWorld(t)
	queued := w.start(Request{UserID: "ann", ConversationID: w.conversation("ann"), Content: "x"})
	orphan := w.ask("ann")
	if _, err := w.FreeAll(ctx); err != nil {
		t.Fatal(err)
	}
	if got := w.claimable(10); !slices.Equal(got, []string{orphan.Run.ID, queued.Run.ID}) {
		t.Errorf("claimable = %v", got)
	}
	if got := w.claimable(1); !slices.Equal(got, []string{orphan.Run.ID}) {
		t.Errorf("the first = %v", got)
	}
}

func TestRenewalProlongsAndTells(t *testing.T) {
	w := newWorld(t)
	kept, taken, cancelled, ended, deleted := w.ask("a"), w.ask("b"), w.ask("c"), w.ask("d"), w.ask("e")
	w.advance(10 * time.Second)
	w.update(taken.Run.ID, "lease_epoch = 2, lease_owner = 'own_bob'")
	if _, err := w.RequestCancel(ctx, "c", cancelled.Run.ID, bob); err != nil {
		t.Fatal(err)
	}
	w.finish(ended)
	if err := w.conversations.Delete(ctx, "e", deleted.Run.ConversationID); err != nil {
		t.Fatal(err)
	}
	told, err := w.Renew(ctx, alice, []Lease{kept.Lease, taken.Lease, cancelled.Lease, ended.Lease, deleted.Lease})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		st   Started
		want Renewed
	}{
		{"kept", kept, Renewed{}}, {"taken by another", taken, Renewed{Lost: true}}, {"to be cancelled", cancelled, Renewed{Cancel: true}},
		{"ended", ended, Renewed{Lost: true}}, {"deleted", deleted, Renewed{Lost: true}},
	} {
		if got := told[tc.st.Run.ID]; got != tc.want {
			t.Errorf("a run that was %s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
	w.advance(LeaseTime - time.Second)
	if _, _, err := w.Claim(ctx, kept.Run.ID, bob, limits); !errors.Is(err, ErrFenced) {
		t.Errorf("a renewed lease was taken: %v", err)
	}
}

func TestTakeoversCountUntilTheRunIsBroughtOn(t *testing.T) {
	w := newWorld(t)
	st := w.ask("ann")
	claim := func() (schema.Run, Lease) {
		t.Helper()
		if _, err := w.FreeAll(ctx); err != nil {
			t.Fatal(err)
		}
		r, l, err := w.Claim(ctx, st.Run.ID, bob, limits)
		if err != nil {
			t.Fatal(err)
		}
		return r, l
	}
	for want := 1; want <= 3; want++ {
		if r, _ := claim(); r.Takeovers != want {
			t.Errorf("takeovers = %d, want %d", r.Takeovers, want)
		}
	}
	_, l := claim()
	mc, err := w.BeginCall(ctx, l, "ann", "m", 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.get(st).Takeovers; n != 4 {
		t.Errorf("a model call that was only begun is no progress: takeovers = %d", n)
	}
	if err := w.FinishCall(ctx, l, mc, nil); err != nil {
		t.Fatal(err)
	}
	if r, _ := claim(); r.Takeovers != 1 {
		t.Errorf("takeovers after progress = %d, want 1", r.Takeovers)
	}
}

func TestReleasesAreNotCountedAsTakeovers(t *testing.T) {
	w := newWorld(t)
	st := w.ask("ann")
	l := st.Lease
	for range 10 {
		if err := w.Release(ctx, l); err != nil {
			t.Fatal(err)
		}
		var r schema.Run
		var err error
		if r, l, err = w.Claim(ctx, st.Run.ID, bob, limits); err != nil || r.Takeovers != 0 {
			t.Fatalf("takeovers = %d, %v", r.Takeovers, err)
		}
	}
}

func TestARunBeginsWithItsFirstModelCall(t *testing.T) {
	w := newWorld(t)
	st := w.start(Request{UserID: "ann", ConversationID: w.conversation("ann"), Content: "x"})
	if at, err := w.Begun(ctx, st.Run.ID); err != nil || !at.IsZero() {
		t.Errorf("a queued run has begun at %v, %v", at, err)
	}
	w.advance(time.Hour)
	_, l, err := w.Claim(ctx, st.Run.ID, bob, limits)
	if err != nil {
		t.Fatal(err)
	}
	begun := w.now()
	for round := 1; round <= 2; round++ {
		if _, err := w.BeginCall(ctx, l, "ann", "m", round); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Minute)
	}
	if at, err := w.Begun(ctx, st.Run.ID); err != nil || !at.Equal(begun) {
		t.Errorf("begun at %v, %v, want %v", at, err, begun)
	}
}

func TestFreeAllFreesOnlyRunningRuns(t *testing.T) {
	w := newWorld(t)
	w.ask("a")
	w.ask("b")
	w.finish(w.ask("c"))
	w.start(Request{UserID: "d", ConversationID: w.conversation("d"), Content: "x"})
	if n, err := w.FreeAll(ctx); err != nil || n != 2 {
		t.Errorf("freed %d, %v, want 2", n, err)
	}
}
