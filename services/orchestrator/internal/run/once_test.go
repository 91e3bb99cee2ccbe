package run

import (
	"context"
	"errors"
	"testing"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/idempotency"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// losing writes, and loses the answers to the first commits: of those that
// landed says true the changes are there, of the others they are not. After is
// how writes end from then on; nil: as usual.
type losing struct {
	*world
	landed []bool
	after  error
	writes int
}

var errUndone = errors.New("undone")

func (l *losing) write(ctx context.Context, change closure) error {
	n := l.writes
	l.writes++
	switch {
	case n >= len(l.landed):
		if l.after != nil {
			return l.after
		}
		return l.DB.Write(ctx, change)
	case l.landed[n]:
		if err := l.DB.Write(ctx, change); err != nil {
			return err
		}
	default:
		err := l.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error { return errors.Join(change(ctx, tx), errUndone) })
		if !errors.Is(err, errUndone) {
			return err
		}
	}
	return store.ErrUnknownCommit
}

func TestARunWhoseFirstCommitLostItsAnswerIsStartedOnce(t *testing.T) {
	for _, tc := range []struct {
		name   string
		landed []bool
		writes int
	}{
		{"it went through", []bool{true}, 2},
		{"it did not", []bool{false}, 2},
		{"it did not, and then it did", []bool{false, true}, 3},
		{"it never did", []bool{false, false, false}, 4},
	} {
		for _, key := range []string{"", "k"} {
			t.Run(tc.name+", with the key "+key, func(t *testing.T) {
				w := newWorld(t)
				l := &losing{world: w, landed: tc.landed}
				req := Request{UserID: "ann", ConversationID: w.conversation("ann"), Content: "hello", Model: "m", Free: true,
					Key: idempotency.Key{Route: "messages", Key: key, BodySHA256: "b"}}
				st, err := w.startBy(ctx, l.write, req, alice, limits)
				if err != nil || st.Attached || l.writes != tc.writes {
					t.Fatalf("%+v, %v after %d writes", st, err, l.writes)
				}
				if n := w.count("messages", "role = ?", schema.RoleUser); n != 1 || w.count("runs", "1 = 1") != 1 || w.count("model_calls", "1 = 1") != 1 {
					t.Errorf("%d messages, %d runs, %d model calls", n, w.count("runs", "1 = 1"), w.count("model_calls", "1 = 1"))
				}
				if n := w.count("model_calls", "id = ? AND run_id = ?", st.Call.ID, st.Run.ID); n != 1 {
					t.Error("the model call that was started is not the one that is stored")
				}
				w.finish(st) // its lease is the caller's
				if got := w.get(st); got.Status != schema.RunCompleted || got.LeaseEpoch != 1 {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

func TestAStartThatCannotBeFoundOutIsHealedByItsKey(t *testing.T) {
	for name, landed := range map[string]bool{"it went through": true, "it did not": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l := &losing{world: w, landed: []bool{landed}, after: store.ErrUnavailable}
			req := Request{UserID: "ann", ConversationID: w.conversation("ann"), Content: "hello", Model: "m", Free: true,
				Key: idempotency.Key{Route: "messages", Key: "k", BodySHA256: "b"}}
			soon, cancel := context.WithCancel(ctx)
			defer cancel()
			_, err := w.startBy(soon, func(ctx context.Context, change closure) error {
				if l.writes == 2 {
					cancel() // the caller does not wait for it
				}
				return l.write(ctx, change)
			}, req, alice, limits)
			if !errors.Is(err, store.ErrUnknownCommit) || errors.Is(err, context.Canceled) {
				t.Fatalf("err = %v", err)
			}
			st, err := w.Start(ctx, req, alice, limits)
			if err != nil || st.Attached != landed || w.count("runs", "1 = 1") != 1 || w.count("messages", "1 = 1") != 1 {
				t.Errorf("%+v, %v, %d runs, %d messages", st, err, w.count("runs", "1 = 1"), w.count("messages", "1 = 1"))
			}
		})
	}
}

func TestWhatRefusesAStartIsSaidAlsoAfterALostAnswer(t *testing.T) {
	w := newWorld(t)
	other := w.ask("ann")
	req := Request{UserID: "ann", ConversationID: other.Run.ConversationID, Content: "hello", Model: "m", Free: true}
	tries := 0
	_, err := w.startBy(ctx, func(ctx context.Context, change closure) error {
		if tries++; tries == 1 {
			return store.ErrUnknownCommit
		}
		return w.DB.Write(ctx, change)
	}, req, alice, limits)
	if busy, ok := errors.AsType[*InProgressError](err); !ok || busy.RunID != other.Run.ID {
		t.Errorf("err = %v", err)
	}
}
