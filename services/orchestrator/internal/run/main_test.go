package run

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/conversation"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema/schematest"
)

func TestMain(m *testing.M) {
	// database/sql ends this goroutine a moment after Close.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

var (
	ctx    = context.Background()
	limits = Limits{RunningPerUser: 4, QueuedPerUser: 20}
	alice  = Owner{ID: "own_alice"}
	bob    = Owner{ID: "own_bob"}
)

// world is a store with a clock that the test moves.
type world struct {
	*Store
	t             testing.TB
	clock         atomic.Int64
	conversations *conversation.Store
}

func newWorld(t testing.TB) *world {
	t.Helper()
	db := schematest.Open(t)
	w := &world{t: t}
	w.clock.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	w.Store = &Store{DB: db, Now: w.now}
	w.conversations = &conversation.Store{DB: db, Now: w.now}
	return w
}

func (w *world) now() time.Time { return time.UnixMilli(w.clock.Load()) }

// advance lets time pass. Leases go by the clock of the database, which no test
// moves: they come nearer to their ends instead.
func (w *world) advance(d time.Duration) {
	w.t.Helper()
	w.clock.Add(d.Milliseconds())
	err := w.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewUpdate().Model((*schema.Run)(nil)).Set("lease_until = lease_until - ?", d.Milliseconds()).Where("lease_until > 0").Exec(ctx)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// leaseClock is the clock that leases go by.
func (w *world) leaseClock() int64 {
	w.t.Helper()
	now, err := w.DB.NowMillis(ctx, w.DB.Read())
	if err != nil {
		w.t.Fatal(err)
	}
	return now
}

func (w *world) conversation(user string) string {
	w.t.Helper()
	c, err := w.conversations.Create(ctx, user, "", "", "")
	if err != nil {
		w.t.Fatal(err)
	}
	return c.ID
}

// ask starts a run in a new conversation of the user.
func (w *world) ask(user string) Started {
	w.t.Helper()
	return w.start(Request{UserID: user, ConversationID: w.conversation(user), Content: "hello", Model: "m", Free: true})
}

func (w *world) start(req Request) Started {
	w.t.Helper()
	st, err := w.Start(ctx, req, alice, limits)
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

func (w *world) get(st Started) schema.Run {
	w.t.Helper()
	r, err := w.Get(ctx, st.Run.UserID, st.Run.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) finish(st Started) {
	w.t.Helper()
	if _, err := w.Finish(ctx, st.Lease, st.Run, End{Status: schema.RunCompleted, FinishReason: "stop", Content: "hi", Usage: &pb.Usage{}}); err != nil {
		w.t.Fatal(err)
	}
}

// events are the types of all logged events; their numbers must have no gaps.
func (w *world) events(runID string) []string {
	w.t.Helper()
	list, err := w.Events(ctx, runID, 0, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	types := make([]string, len(list))
	for i, e := range list {
		if int(e.Seq) != i+1 {
			w.t.Errorf("event %d of run %s has the number %d", i+1, runID, e.Seq)
		}
		types[i] = TypeOf(e)
	}
	return types
}

// count counts rows.
func (w *world) count(table, where string, args ...any) int {
	w.t.Helper()
	n, err := w.DB.Read().NewSelect().Table(table).Where(where, args...).Count(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return int(n)
}

// update sets columns of a run past the store's rules.
func (w *world) update(runID, set string, args ...any) {
	w.t.Helper()
	err := w.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewUpdate().Model((*schema.Run)(nil)).Set(set, args...).Where("id = ?", runID).Exec(ctx)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func note(kind string) *pb.RunEvent {
	return &pb.RunEvent{Event: &pb.RunEvent_Notice{Notice: &pb.Notice{Kind: kind}}}
}
