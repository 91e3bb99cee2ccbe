// Package ledger closes addresses. It is the only way in which an address is done
// with: in one transaction its row leaves the frontier, its result is inserted,
// the task's counters and event log move, and a task whose last address is closed
// ends. So the counters are what the rows say, at any moment.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// cancelGrace is how long a host is left alone after a lease was taken from a
// worker that may still be asking it.
const cancelGrace = 2_000

// ErrMoved says that an address was not open any more. Whoever holds the task's
// row cannot meet it.
var ErrMoved = errors.New("ledger: an address was closed twice")

// Done is an address that is done with.
type Done struct {
	Address schema.Address
	// State is StateDone, StateFailed or StateSkipped.
	State int
	// Tried says that this was an attempt.
	Tried bool
	// Data is a CrawlData without what is in the blob.
	Data                      []byte
	Title                     string
	ContentKey, ContentSHA256 string
	Reason, Message           string
	StatusCode, DurationMS    int
}

// Book is open for one transaction on one task.
type Book struct {
	tx     bun.IDB
	now    int64
	events []*pb.CrawlEvent
	// Task is the row, locked and as it will be.
	Task *schema.Task
}

// Open locks the row of a task that has not ended. sql.ErrNoRows: there is none.
func Open(ctx context.Context, tx bun.IDB, now int64, taskID string) (*Book, error) {
	var t schema.Task
	q := tx.NewSelect().Model(&t).ColumnExpr("*").Where("id = ?", taskID).
		Where("status IN (?, ?)", schema.StatusPending, schema.StatusRunning)
	if err := store.ForUpdate(q).Scan(ctx); err != nil {
		return nil, fmt.Errorf("lock task %s: %w", taskID, err)
	}
	return New(tx, now, &t), nil
}

// New is Open for a row that this transaction has made.
func New(tx bun.IDB, now int64, t *schema.Task) *Book { return &Book{tx: tx, now: now, Task: t} }

// Close records addresses that are done with. Each must be open.
func (b *Book) Close(ctx context.Context, done []Done) error {
	if len(done) == 0 {
		return nil
	}
	if err := b.leaveFrontier(ctx, done); err != nil {
		return err
	}
	rows := make([]schema.Result, len(done))
	for i, d := range done {
		b.Task.ResultSeq++
		rows[i] = b.result(d)
		b.events = append(b.events, pageEvent(&rows[i], d.Title))
		switch d.State {
		case schema.StateDone:
			b.Task.Succeeded++
		case schema.StateFailed:
			b.Task.Failed++
		default:
			b.Task.Skipped++
		}
	}
	return insertResults(ctx, b.tx, rows)
}

func (b *Book) result(d Done) schema.Result {
	r := schema.Result{
		TaskID: b.Task.ID, Seq: b.Task.ResultSeq, URLKey: d.Address.URLKey, URL: d.Address.URL, OK: d.State == schema.StateDone,
		Data: d.Data, ContentKey: d.ContentKey, ContentSHA256: d.ContentSHA256, Reason: d.Reason, Error: d.Message,
		StatusCode: d.StatusCode, Attempts: d.Address.Attempts, DurationMS: d.DurationMS, FetchedAt: b.now,
	}
	if d.Tried {
		r.Attempts++
	}
	if r.Data == nil {
		r.Data = []byte{}
	}
	return r
}

// leaveFrontier closes the rows, in one statement for all that end alike.
func (b *Book) leaveFrontier(ctx context.Context, done []Done) error {
	type end struct {
		state int
		tried bool
	}
	groups := map[end][][]byte{}
	for _, d := range done {
		e := end{d.State, d.Tried}
		groups[e] = append(groups[e], d.Address.URLKey)
	}
	for e, keys := range groups {
		q := b.tx.NewUpdate().Model((*schema.Address)(nil)).Set("state = ?", e.state)
		if e.tried {
			q = q.Set("attempts = attempts + 1")
		}
		res, err := q.Where("task_id = ? AND state = ?", b.Task.ID, schema.StateOpen).Where("url_key IN (?)", bun.List(keys)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("close addresses of task %s: %w", b.Task.ID, err)
		}
		if n, err := res.RowsAffected(); err != nil || int(n) != len(keys) {
			return errors.Join(ErrMoved, err)
		}
	}
	return nil
}

func pageEvent(r *schema.Result, title string) *pb.CrawlEvent {
	page := &pb.CrawlPageDone{
		Url: r.URL, Ok: r.OK, StatusCode: int32(r.StatusCode), Title: title, DurationMs: int32(r.DurationMS), ResultSeq: int32(r.Seq),
	}
	if !r.OK {
		page.Error = &pb.CrawlError{Url: r.URL, Error: r.Error, Reason: r.Reason}
	}
	return &pb.CrawlEvent{Event: &pb.CrawlEvent_Page{Page: page}}
}

// Status gives the task another status that does not end it.
func (b *Book) Status(status, reason string) {
	b.Task.Status = status
	b.events = append(b.events, &pb.CrawlEvent{Event: &pb.CrawlEvent_State{State: &pb.CrawlState{Status: status, Reason: reason}}})
}

// End ends the task. Its leases end with it: as done when nothing is left to do,
// and as cancelled otherwise.
func (b *Book) End(ctx context.Context, status string) error {
	t := b.Task
	t.Status, t.CompletedAt = status, b.now
	lease := schema.LeaseCancelled
	if status == schema.StatusCompleted {
		lease = schema.LeaseDone
		switch t.Succeeded {
		case t.Total:
			t.Outcome = schema.OutcomeOK
		case 0:
			t.Outcome = schema.OutcomeEmpty
		default:
			t.Outcome = schema.OutcomePartial
		}
	}
	b.events = append(b.events, &pb.CrawlEvent{Event: &pb.CrawlEvent_Done{Done: &pb.CrawlDone{
		Status: t.Status, Outcome: t.Outcome, Succeeded: int32(t.Succeeded), Failed: int32(t.Failed), Skipped: int32(t.Skipped), Total: int32(t.Total),
	}}})
	return b.endLeases(ctx, lease)
}

func (b *Book) endLeases(ctx context.Context, state string) error {
	var ids []string
	err := b.tx.NewSelect().Model((*schema.Lease)(nil)).Column("id").
		Where("task_id = ? AND state = ?", b.Task.ID, schema.LeaseLive).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return err
	}
	_, err = b.tx.NewUpdate().Model((*schema.Lease)(nil)).Set("state = ?, ended_at = ?, lease_until = 0", state, b.now).Where("id IN (?)", bun.List(ids)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("end leases of task %s: %w", b.Task.ID, err)
	}
	_, err = b.tx.NewUpdate().Model((*schema.Host)(nil)).Set("lease_id = '', lease_until = 0").
		Set("next_at = CASE WHEN next_at < ? THEN ? ELSE next_at END", b.now+cancelGrace, b.now+cancelGrace).
		Where("lease_id IN (?)", bun.List(ids)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("free hosts of task %s: %w", b.Task.ID, err)
	}
	return nil
}

// Save writes the task's row and events. A task without an open address ends.
func (b *Book) Save(ctx context.Context) error {
	t := b.Task
	if !t.Ended() && t.Progress() >= t.Total {
		open, err := b.open(ctx)
		if err != nil {
			return err
		}
		if !open {
			if err := b.End(ctx, schema.StatusCompleted); err != nil {
				return err
			}
		}
	}
	if err := b.log(ctx); err != nil {
		return err
	}
	t.Rev++
	_, err := b.tx.NewUpdate().Model(t).
		Column("status", "outcome", "succeeded", "failed", "skipped", "last_seq", "result_seq", "rev", "error_message", "started_at", "completed_at").
		WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("update task %s: %w", t.ID, err)
	}
	return nil
}

func (b *Book) open(ctx context.Context) (bool, error) {
	var one int
	err := b.tx.NewSelect().Model((*schema.Address)(nil)).ColumnExpr("1").
		Where("task_id = ? AND state = ?", b.Task.ID, schema.StateOpen).Limit(1).Scan(ctx, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for open addresses of task %s: %w", b.Task.ID, err)
	}
	return true, nil
}

// log appends the events, whose numbers come from the locked row.
func (b *Book) log(ctx context.Context) error {
	if len(b.events) == 0 {
		return nil
	}
	rows := make([]schema.Event, len(b.events))
	for i, e := range b.events {
		data, err := proto.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode event of task %s: %w", b.Task.ID, err)
		}
		b.Task.LastSeq++
		rows[i] = schema.Event{TaskID: b.Task.ID, Seq: b.Task.LastSeq, Type: TypeOf(e), Data: data, CreatedAt: b.now}
	}
	b.events = nil
	if _, err := b.tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return fmt.Errorf("append events of task %s: %w", b.Task.ID, err)
	}
	return nil
}

// TypeOf is the name of the event's field in the contract, which is also its
// name over SSE.
func TypeOf(e *pb.CrawlEvent) string {
	m := e.ProtoReflect()
	if f := m.WhichOneof(m.Descriptor().Oneofs().ByName("event")); f != nil {
		return string(f.Name())
	}
	return ""
}
