package frontier

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/ledger"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// ReasonWorkerLost: whoever fetches this address is never heard of again.
const ReasonWorkerLost = "WORKER_LOST"

// Want names what is to be leased.
type Want struct {
	TaskID, Origin, Host string
	WorkerID             string
	// Max addresses.
	Max int
}

// Leased is a lease with what belongs to it.
type Leased struct {
	Lease   schema.Lease
	Task    schema.Task
	Host    schema.Host
	Targets []schema.Address
	Grant   host.Grant
	// Closed says that addresses were given up on the way.
	Closed bool
	// Saved says that the task's row was changed.
	Saved bool
}

// Lease reserves a host for a task and hands out addresses of one origin, or
// answers ErrNotNow.
func (s *Store) Lease(ctx context.Context, want Want) (Leased, error) {
	var out Leased
	id := ident.New(schema.LeasePrefix)
	err := s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		out = Leased{}
		now, err := s.Clock(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.reserve(ctx, tx, now, want, &out); err != nil {
			return err
		}
		pace := out.Host.Pace
		t, free, err := s.free(ctx, tx, now, want.TaskID)
		if err != nil {
			return err
		}
		book := ledger.New(tx, now, &t)
		out.Grant = out.Host.Grant(now, s.Policy(want.Host), free)
		if err := s.targets(ctx, tx, now, want, book, &out); err != nil {
			return err
		}
		if len(out.Targets) > 0 {
			if err := s.grant(ctx, tx, now, id, want, book, pace, &out); err != nil {
				return err
			}
		}
		if out.Closed || out.Saved {
			out.Saved = true
			if err := book.Save(ctx); err != nil {
				return err
			}
		}
		out.Task = *book.Task
		if len(out.Targets) == 0 && !out.Closed {
			return ErrNotNow
		}
		return nil
	})
	if err == nil && len(out.Targets) == 0 {
		err = ErrNotNow
	}
	return out, err
}

// reserve locks the row of a host whose time has come and that nobody has.
func (s *Store) reserve(ctx context.Context, tx bun.IDB, now int64, want Want, out *Leased) error {
	err := store.ForUpdateFree(tx.NewSelect().Model(&out.Host).ColumnExpr("*").Where("host = ?", want.Host)).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotNow
	case err != nil:
		return fmt.Errorf("reserve host: %w", err)
	case out.Host.NextAt > now, out.Host.LeaseID != "" && out.Host.LeaseUntil >= now:
		return ErrNotNow
	case out.Host.LeaseID != "":
		return s.lose(ctx, tx, now, out.Host.LeaseID)
	}
	return nil
}

// free locks a task that has not ended and tells how many requests more it may
// have at once. A task that waits for its turn gets it here, or ErrNotNow.
func (s *Store) free(ctx context.Context, tx bun.IDB, now int64, taskID string) (schema.Task, int, error) {
	var row struct {
		schema.Task `bun:",extend"`
		Used        int `bun:"used,scanonly"`
	}
	q := tx.NewSelect().Model(&row).ColumnExpr("?TableAlias.*").
		// Of the row that was locked, so that the leases are counted after that.
		ColumnExpr("(SELECT COALESCE(SUM(l.parallel), 0) FROM crawl_leases AS l WHERE l.task_id = ?TableAlias.id AND l.state = ? AND l.lease_until >= ?) AS used", schema.LeaseLive, now).
		Where("id = ? AND status IN (?, ?)", taskID, schema.StatusPending, schema.StatusRunning)
	err := store.ForUpdate(q).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return row.Task, 0, ErrNotNow
	case err != nil:
		return row.Task, 0, fmt.Errorf("lock task %s: %w", taskID, err)
	case row.Used >= row.Parallel:
		return row.Task, 0, ErrNotNow
	case row.Status == schema.StatusPending:
		err = s.turn(ctx, tx, now, row.UserID)
	}
	return row.Task, row.Parallel - row.Used, err
}

// turn answers ErrNotNow when as many tasks of a user run as may.
func (s *Store) turn(ctx context.Context, tx bun.IDB, now int64, userID string) error {
	if err := LockUser(ctx, tx, now, userID); err != nil {
		return err
	}
	n, err := tx.NewSelect().Model((*schema.Task)(nil)).Where("user_id = ? AND status = ?", userID, schema.StatusRunning).Count(ctx)
	if err != nil {
		return fmt.Errorf("count running tasks: %w", err)
	}
	if int(n) >= s.RunningPerUser {
		return ErrNotNow
	}
	return nil
}

// LockUser lets closures that count the tasks of a user go one after another.
func LockUser(ctx context.Context, tx bun.IDB, now int64, userID string) error {
	if _, err := tx.NewInsert().Model(&schema.User{UserID: userID, CreatedAt: now}).Ignore().Exec(ctx); err != nil {
		return fmt.Errorf("store user: %w", err)
	}
	var id string
	if err := store.ForUpdate(tx.NewSelect().Model((*schema.User)(nil)).Column("user_id").Where("user_id = ?", userID)).Scan(ctx, &id); err != nil {
		return fmt.Errorf("lock user: %w", err)
	}
	return nil
}

// targets chooses the addresses, in the order in which they were given.
func (s *Store) targets(ctx context.Context, tx bun.IDB, now int64, want Want, book *ledger.Book, out *Leased) error {
	size := min(out.Grant.Size, want.Max)
	var rows []schema.Address
	err := tx.NewSelect().Model(&rows).ColumnExpr("*").
		Where("task_id = ? AND state = ? AND origin = ? AND not_before <= ? AND robots_until > ?", want.TaskID, schema.StateOpen, want.Origin, now, now).
		Order("ordinal").Limit(int64(size)).Scan(ctx)
	if err != nil {
		return fmt.Errorf("choose addresses of task %s: %w", want.TaskID, err)
	}
	var lost []ledger.Done
	for _, a := range rows {
		switch {
		case a.Losses >= maxLosses:
			lost = append(lost, ledger.Done{
				Address: a, State: schema.StateFailed, Reason: ReasonWorkerLost,
				Message: "every worker that fetched this address was lost before it could tell what came",
			})
		case a.Losses >= manyLosses && len(out.Targets) > 0:
		case a.Losses >= manyLosses:
			out.Targets = append(out.Targets, a)
			out.Closed = len(lost) > 0
			return book.Close(ctx, lost)
		default:
			out.Targets = append(out.Targets, a)
		}
	}
	out.Closed = len(lost) > 0
	return book.Close(ctx, lost)
}

// grant writes the lease.
func (s *Store) grant(ctx context.Context, tx bun.IDB, now int64, id string, want Want, book *ledger.Book, pace host.Pace, out *Leased) error {
	out.Grant.Parallel = min(out.Grant.Parallel, len(out.Targets))
	keys := make([]byte, 0, len(out.Targets)*16)
	for _, a := range out.Targets {
		keys = append(keys, a.URLKey...)
	}
	out.Lease = schema.Lease{
		ID: id, TaskID: want.TaskID, Host: want.Host, Origin: want.Origin, WorkerID: want.WorkerID, State: schema.LeaseLive,
		Parallel: out.Grant.Parallel, URLKeys: keys, LeaseUntil: now + LeaseTime.Milliseconds(), CreatedAt: now,
	}
	if _, err := tx.NewInsert().Model(&out.Lease).Exec(ctx); err != nil {
		return fmt.Errorf("store lease: %w", err)
	}
	out.Host.LeaseID, out.Host.LeaseUntil = id, out.Lease.LeaseUntil
	if err := saveLease(ctx, tx, now, &out.Host, pace); err != nil {
		return err
	}
	if book.Task.Status == schema.StatusPending {
		book.Status(schema.StatusRunning, "")
		book.Task.StartedAt, out.Saved = now, true
	}
	return nil
}

// lose ends a lease whose time is over.
func (s *Store) lose(ctx context.Context, tx bun.IDB, now int64, id string) error {
	var l schema.Lease
	err := store.ForUpdate(tx.NewSelect().Model(&l).Where("id = ? AND state = ?", id, schema.LeaseLive)).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read lease: %w", err)
	}
	_, err = tx.NewUpdate().Model((*schema.Lease)(nil)).Set("state = ?, ended_at = ?", schema.LeaseLost, now).Where("id = ?", id).Exec(ctx)
	if err != nil {
		return fmt.Errorf("end lease: %w", err)
	}
	if keys := keysOf(&l); len(keys) > 0 {
		_, err = tx.NewUpdate().Model((*schema.Address)(nil)).Set("losses = losses + 1").
			Where("task_id = ? AND state = ?", l.TaskID, schema.StateOpen).Where("url_key IN (?)", bun.List(keys)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("count lost addresses: %w", err)
		}
	}
	return nil
}
