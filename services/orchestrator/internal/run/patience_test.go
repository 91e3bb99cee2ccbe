package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uptrace/bun"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func TestWhatTheDatabaseRefusesForAWhileIsTriedAgain(t *testing.T) {
	own := errors.New("a fault of our own")
	for _, tc := range []struct {
		name string
		err  error
		want string // of what is left of it; empty: it goes away
	}{
		{"a database that is away", fmt.Errorf("begin: %w", store.ErrUnavailable), ""},
		{"one that is full", store.ErrDiskFull, ""},
		{"one that broke off in a commit", store.ErrUnknownCommit, ""},
		{"a fault of our own", own, "a fault of our own"},
		{"a lost lease", ErrFenced, "the lease is lost"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, tries := time.Now(), 0
				err := Patiently(t.Context(), func() error {
					if tries++; time.Since(begun) < 10*time.Second {
						return tc.err
					}
					return nil
				})
				took := time.Since(begun)
				if tc.want == "" && (err != nil || took < 10*time.Second || took > 11*time.Second || tries > 20) {
					t.Errorf("%v after %s and %d tries", err, took, tries)
				}
				if tc.want != "" && (!errors.Is(err, tc.err) || tries != 1) {
					t.Errorf("%v after %d tries", err, tries)
				}
			})
		})
	}
}

func TestPatienceEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("the process ends")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Second, func() { cancel(why) })
		err := Patiently(ctx, func() error { return store.ErrUnavailable })
		if !errors.Is(err, why) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("err = %v", err)
		}
	})
}

// A commit whose answer is lost went through, or it did not.
func TestACommitWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	for _, tc := range []struct {
		name   string
		landed bool
		events []*pb.RunEvent
	}{
		{"it went through, with events", true, []*pb.RunEvent{note("first"), note("second")}},
		{"it did not, with events", false, []*pb.RunEvent{note("first"), note("second")}},
		{"it went through, without events", true, nil},
		{"it did not, without events", false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			st := w.ask("ann")
			lost := false
			err := w.commitBy(ctx, func(ctx context.Context, change closure) error {
				if lost {
					return w.DB.Write(ctx, change)
				}
				lost = true
				if tc.landed {
					if err := w.DB.Write(ctx, change); err != nil {
						return err
					}
				} else {
					undo := errors.New("undone")
					err := w.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error { return errors.Join(change(ctx, tx), undo) })
					if !errors.Is(err, undo) {
						return err
					}
				}
				return store.ErrUnknownCommit
			}, st.Lease, func(ctx context.Context, tx bun.IDB) error {
				_, err := tx.NewUpdate().Model((*schema.Run)(nil)).Set("rounds = 7").Where("id = ?", st.Run.ID).Exec(ctx)
				return err
			}, tc.events)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.TrimSpace("run_started " + strings.Repeat("notice ", len(tc.events)))
			if got := strings.Join(w.events(st.Run.ID), " "); got != want || w.get(st).Rounds != 7 {
				t.Errorf("log %q, want %q; rounds %d", got, want, w.get(st).Rounds)
			}
		})
	}
}

func TestACommitWhoseAnswerIsLostIsNotMadeForAnotherOwner(t *testing.T) {
	w := newWorld(t)
	st := w.ask("ann")
	err := w.commitBy(ctx, func(ctx context.Context, change closure) error {
		w.advance(LeaseTime + time.Second)
		if _, _, err := w.Claim(ctx, st.Run.ID, bob, limits); err != nil {
			return err
		}
		return store.ErrUnknownCommit
	}, st.Lease, nil, []*pb.RunEvent{note("mine")})
	if !errors.Is(err, ErrFenced) {
		t.Errorf("err = %v", err)
	}
	if got := strings.Join(w.events(st.Run.ID), " "); got != "run_started" {
		t.Errorf("log %q", got)
	}
}
