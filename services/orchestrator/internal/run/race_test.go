package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/idempotency"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// Two replicas can do any two of these at the same time.

const raceRounds = 12

func together(do ...func()) {
	var wg sync.WaitGroup
	for _, f := range do {
		wg.Go(f)
	}
	wg.Wait()
}

func TestOfRequestsWithOneKeyAtOnceOneIsMadeAndTheOthersAttach(t *testing.T) {
	w := newWorld(t)
	for round := range raceRounds {
		req := Request{UserID: "ann", Content: "x", Free: true, Key: idempotency.Key{Route: "messages", Key: fmt.Sprint("k", round), BodySHA256: "b"}}
		req.ConversationID = w.conversation("ann")
		made := make([]Started, 4)
		var do []func()
		for i := range made {
			do = append(do, func() {
				st, err := w.Start(ctx, req, alice, Limits{RunningPerUser: 1000})
				if err != nil {
					t.Error(err)
				}
				made[i] = st
			})
		}
		together(do...)
		attached := 0
		for _, st := range made {
			if st.Run.ID != made[0].Run.ID {
				t.Errorf("runs %s and %s for one key", st.Run.ID, made[0].Run.ID)
			}
			if st.Attached {
				attached++
			}
		}
		if attached != len(made)-1 || w.count("runs", "conversation_id = ?", req.ConversationID) != 1 {
			t.Errorf("%d of %d attached", attached, len(made))
		}
	}
}

func TestTheLimitOfAUserHoldsWhenManyStartAtOnce(t *testing.T) {
	w := newWorld(t)
	err := w.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&schema.User{ID: "ann", Name: "Ann"}).Exec(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const asked = 12
	var do []func()
	for range asked {
		c := w.conversation("ann")
		do = append(do, func() {
			if _, err := w.Start(ctx, Request{UserID: "ann", ConversationID: c, Content: "x", Free: true}, alice, limits); err != nil {
				t.Error(err)
			}
		})
	}
	together(do...)
	if n := w.count("runs", "status = ?", schema.RunRunning); n != limits.RunningPerUser {
		t.Errorf("%d run, want %d", n, limits.RunningPerUser)
	}
	// An owner that ends makes room for one, whoever wants to claim.
	w.update(first(w, schema.RunRunning), "status = ?", schema.RunCompleted)
	do = nil
	for _, id := range w.claimable(asked) {
		do = append(do, func() {
			if _, _, err := w.Claim(ctx, id, bob, limits); err != nil && !errors.Is(err, ErrFenced) {
				t.Error(err)
			}
		})
	}
	together(do...)
	if n := w.count("runs", "status = ?", schema.RunRunning); n != limits.RunningPerUser {
		t.Errorf("after claims %d run, want %d", n, limits.RunningPerUser)
	}
}

func first(w *world, status string) (id string) {
	w.t.Helper()
	if err := w.DB.Read().NewSelect().Model((*schema.Run)(nil)).Column("id").Where("status = ?", status).Order("id").Limit(1).Scan(ctx, &id); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func TestARunThatEndsWhileItIsTakenOverEndsOnceOrGoesOn(t *testing.T) {
	w := newWorld(t)
	for range raceRounds {
		st := w.ask("ann")
		w.advance(LeaseTime + time.Millisecond)
		var ended, claimed error
		together(
			func() {
				_, ended = w.Finish(ctx, st.Lease, st.Run, End{Status: schema.RunCompleted, FinishReason: "stop", Usage: &pb.Usage{}})
			},
			func() { _, _, claimed = w.Claim(ctx, st.Run.ID, bob, limits) },
		)
		r := w.get(st)
		switch {
		case ended == nil && errors.Is(claimed, ErrFenced) && r.Status == schema.RunCompleted:
		case errors.Is(ended, ErrFenced) && claimed == nil && r.Status == schema.RunRunning && r.LeaseOwner == bob.ID:
			w.update(r.ID, "status = ?", schema.RunFailed) // make room
		default:
			t.Errorf("ended: %v, claimed: %v, run %+v", ended, claimed, r)
		}
	}
}

func TestAQueuedRunThatIsCancelledWhileItIsClaimedIsNotLost(t *testing.T) {
	w := newWorld(t)
	for range raceRounds {
		st := w.start(Request{UserID: "ann", ConversationID: w.conversation("ann"), Content: "x"})
		var cancelled, claimed error
		together(
			func() { _, cancelled = w.RequestCancel(ctx, "ann", st.Run.ID, alice) },
			func() { _, _, claimed = w.Claim(ctx, st.Run.ID, bob, limits) },
		)
		r := w.get(st)
		switch {
		case cancelled != nil:
			t.Error(cancelled)
		case claimed == nil && r.Status == schema.RunRunning && r.CancelRequested && r.LeaseOwner == bob.ID:
			w.update(r.ID, "status = ?", schema.RunFailed)
		case errors.Is(claimed, ErrFenced) && r.Status == schema.RunCancelled:
		default:
			t.Errorf("claimed: %v, run %+v", claimed, r)
		}
	}
}

func TestNothingIsAddedToAConversationWhileItIsDeleted(t *testing.T) {
	w := newWorld(t)
	for i := range raceRounds {
		st := w.ask("ann")
		var written error
		together(
			func() {
				if err := w.conversations.Delete(ctx, "ann", st.Run.ConversationID); err != nil {
					t.Error(err)
				}
			},
			func() {
				if i%2 == 0 {
					written = w.Commit(ctx, st.Lease, nil, note("x"))
				} else {
					_, written = w.Finish(ctx, st.Lease, st.Run, End{Status: schema.RunCompleted, Usage: &pb.Usage{}})
				}
			},
		)
		if written != nil && !errors.Is(written, ErrFenced) {
			t.Error(written)
		}
		for table, where := range map[string]string{"runs": "id = ?", "events": "run_id = ?", "model_calls": "run_id = ?", "messages": "run_id = ?"} {
			if n := w.count(table, where, st.Run.ID); n != 0 {
				t.Errorf("%d rows of %s were left", n, table)
			}
		}
	}
}
