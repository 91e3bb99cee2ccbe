// Package run keeps runs: their rows, their event log and their lease.
//
// A run has one owner at a time. [Store.Commit] is the only way in which an
// owner writes: in one transaction it checks the lease, makes the change, takes
// the next sequence numbers from the run's row and appends the events, so that
// what readers see is what happened, in order and without gaps. An owner that
// lost its lease gets [ErrFenced] and writes nothing.
package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

var (
	// ErrFenced says that the lease was given back or belongs to somebody else
	// now, or that the run has ended or is gone.
	ErrFenced = errors.New("run: the lease is lost")
	// ErrNotFound says that there is no such run of this user.
	ErrNotFound = errors.New("run: not found")
)

// Store keeps runs.
type Store struct {
	DB *store.DB
	// Now stamps rows. Leases go by the clock of the database.
	Now func() time.Time
}

// Lease is the right to write to a run.
type Lease struct {
	RunID string
	Owner string
	Epoch int
}

// Commit makes a change under the lease and appends events, which get their
// sequence numbers. While the database is away it tries again until ctx ends: an
// owner has its lease meanwhile, or is fenced off when it comes back. change may
// be nil and may run again: like every closure of a write, and one without
// events even after it was committed.
func (s *Store) Commit(ctx context.Context, l Lease, change func(ctx context.Context, tx bun.IDB) error, events ...*pb.RunEvent) error {
	return s.commitBy(ctx, s.DB.Write, l, change, events)
}

func (s *Store) commit(ctx context.Context, tx bun.IDB, l Lease, change func(ctx context.Context, tx bun.IDB) error, events []*pb.RunEvent) error {
	res, err := tx.NewUpdate().Model((*schema.Run)(nil)).
		Set("last_seq = last_seq + ?", len(events)).
		Where("id = ? AND lease_owner = ? AND lease_epoch = ? AND status = ?", l.RunID, l.Owner, l.Epoch, schema.RunRunning).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("take sequence numbers of run %s: %w", l.RunID, err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(ErrFenced, err)
	}
	if change != nil {
		if err := change(ctx, tx); err != nil {
			return err
		}
	}
	if len(events) == 0 {
		return nil
	}
	var last int
	if err := tx.NewSelect().Model((*schema.Run)(nil)).Column("last_seq").Where("id = ?", l.RunID).Scan(ctx, &last); err != nil {
		return fmt.Errorf("read sequence number of run %s: %w", l.RunID, err)
	}
	return s.insertEvents(ctx, tx, l.RunID, last-len(events), events)
}

// insertEvents appends events after seq. An event is stored without its
// sequence number, which is a column.
func (s *Store) insertEvents(ctx context.Context, tx bun.IDB, runID string, seq int, events []*pb.RunEvent) error {
	rows := make([]schema.Event, len(events))
	now := s.Now().UnixMilli()
	for i, e := range events {
		e.Seq = 0
		data, err := proto.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode event of run %s: %w", runID, err)
		}
		e.Seq = int32(seq + i + 1)
		rows[i] = schema.Event{RunID: runID, Seq: seq + i + 1, Type: TypeOf(e), Data: data, CreatedAt: now}
	}
	if _, err := tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return fmt.Errorf("append events of run %s: %w", runID, err)
	}
	return nil
}

// TypeOf is the name of the event's field in the contract, which is also its
// name over SSE.
func TypeOf(e *pb.RunEvent) string {
	m := e.ProtoReflect()
	if f := m.WhichOneof(m.Descriptor().Oneofs().ByName("event")); f != nil {
		return string(f.Name())
	}
	return ""
}

// Events reads at most limit logged events after a sequence number.
func (s *Store) Events(ctx context.Context, runID string, after, limit int) ([]*pb.RunEvent, error) {
	var rows []schema.Event
	err := s.DB.Read().NewSelect().Model(&rows).
		Where("run_id = ? AND seq > ?", runID, after).
		Order("seq").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read events of run %s: %w", runID, err)
	}
	events := make([]*pb.RunEvent, len(rows))
	for i, row := range rows {
		e := &pb.RunEvent{}
		if err := proto.Unmarshal(row.Data, e); err != nil {
			return nil, fmt.Errorf("decode event %d of run %s: %w", row.Seq, runID, err)
		}
		e.Seq = int32(row.Seq)
		events[i] = e
	}
	return events, nil
}

// Get reads a run of a user.
func (s *Store) Get(ctx context.Context, userID, runID string) (schema.Run, error) {
	return get(ctx, s.DB.Read(), userID, runID)
}

func get(ctx context.Context, db bun.IDB, userID, runID string) (schema.Run, error) {
	return scan(ctx, ofUser(db, userID, runID), runID)
}

func ofUser(db bun.IDB, userID, runID string) *bun.SelectQuery {
	return db.NewSelect().Model((*schema.Run)(nil)).Where("id = ? AND user_id = ?", runID, userID)
}

func scan(ctx context.Context, q *bun.SelectQuery, runID string) (r schema.Run, err error) {
	err = q.Scan(ctx, &r)
	if errors.Is(err, sql.ErrNoRows) {
		return r, ErrNotFound
	}
	if err != nil {
		return r, fmt.Errorf("read run %s: %w", runID, err)
	}
	return r, nil
}

// GetMany reads runs of a user by their ids. Ids that are not there are left
// out.
func (s *Store) GetMany(ctx context.Context, userID string, ids []string) (map[string]*schema.Run, error) {
	out := make(map[string]*schema.Run, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var rows []schema.Run
	err := s.DB.Read().NewSelect().Model(&rows).Where("user_id = ?", userID).Where("id IN (?)", bun.List(ids)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}

// ModelCalls reads every model call of a run without its texts, those that
// failed included. The run must be known to be the user's.
func (s *Store) ModelCalls(ctx context.Context, runID string) (calls []schema.ModelCall, err error) {
	err = s.DB.Read().NewSelect().Model(&calls).ExcludeColumn("text", "reasoning", "extra").
		Where("run_id = ?", runID).Order("round", "attempt").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read model calls: %w", err)
	}
	return calls, nil
}

// Rounds reads what was made in runs: the model calls that were finished and
// every tool call, each in order. The runs must be known to be the user's. With
// whole, tool calls have their Result; a prompt needs none.
func (s *Store) Rounds(ctx context.Context, whole bool, runIDs ...string) (calls []schema.ModelCall, tools []schema.ToolCall, err error) {
	if len(runIDs) == 0 {
		return nil, nil, nil
	}
	err = s.DB.Read().NewSelect().Model(&calls).
		Where("run_id IN (?)", bun.List(runIDs)).Where("state = ?", schema.ModelCallDone).
		Order("run_id", "round", "attempt").Scan(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read model calls: %w", err)
	}
	q := s.DB.Read().NewSelect().Model(&tools).Where("run_id IN (?)", bun.List(runIDs)).Order("run_id", "round", "ordinal")
	if !whole {
		q = q.ExcludeColumn("result")
	}
	if err := q.Scan(ctx); err != nil {
		return nil, nil, fmt.Errorf("read tool calls: %w", err)
	}
	return calls, tools, nil
}
