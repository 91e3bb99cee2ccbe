// Package janitor removes what is beyond its retention, a few rows at a time, so
// that nobody waits for it. What is in the blob store goes before the rows that
// know of it.
package janitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/task"
)

const (
	// rows that one transaction removes, more or less.
	rows = 1000
	// keepKeys, keepLeases and keepHosts are the retentions of those tables.
	keepKeys   = task.KeyLife
	keepLeases = time.Hour
	keepHosts  = 7 * 24 * time.Hour
	// tasksAtOnce are read at once.
	tasksAtOnce = 100
	overdue     = "the task did not end within the time for which results are kept"
)

// Janitor removes what is too old.
type Janitor struct {
	DB    *store.DB
	Blobs blob.Bucket
	Tasks *task.Store
	// KeepResults after the end of their task, KeepTasks after their own.
	KeepResults, KeepTasks time.Duration
}

// Clean removes what is too old at the given time. It may be cut short and called
// again at any time.
func (j *Janitor) Clean(ctx context.Context, now time.Time) error {
	before := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
	return errors.Join(
		j.failOverdue(ctx, before(j.KeepResults)),
		j.sweepResults(ctx, before(j.KeepResults), now.UnixMilli()),
		j.removeTasks(ctx, before(j.KeepTasks)),
		j.remove(ctx, "idempotency_keys", "created_at", "created_at < ?", before(keepKeys)),
		j.remove(ctx, "crawl_leases", "ended_at", "state <> 'live' AND ended_at < ?", before(keepLeases)),
		j.remove(ctx, "crawl_hosts", "updated_at", "lease_id = '' AND updated_at < ?", before(keepHosts)),
		j.removeUsers(ctx),
	)
}

// failOverdue ends tasks that were made before a time and have not ended.
func (j *Janitor) failOverdue(ctx context.Context, before int64) error {
	var late []schema.Task
	err := j.DB.Read().NewSelect().Model(&late).Column("id", "user_id").
		Where("status IN (?, ?) AND created_at < ?", schema.StatusPending, schema.StatusRunning, before).Limit(tasksAtOnce).Scan(ctx)
	if err != nil {
		return fmt.Errorf("list tasks that do not end: %w", err)
	}
	for _, t := range late {
		if _, err := j.Tasks.Fail(ctx, t.UserID, t.ID, overdue); err != nil {
			return fmt.Errorf("end a task that does not end: %w", err)
		}
	}
	return nil
}

// ended lists tasks that ended before a time.
func (j *Janitor) ended(ctx context.Context, before int64, and string) (ids []string, err error) {
	err = j.DB.Read().NewSelect().Model((*schema.Task)(nil)).Column("id").
		Where("status IN (?, ?, ?) AND completed_at < ?", schema.StatusCompleted, schema.StatusFailed, schema.StatusCancelled, before).
		Where(and).Limit(tasksAtOnce).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("list old tasks: %w", err)
	}
	return ids, nil
}

func (j *Janitor) sweepResults(ctx context.Context, before, now int64) error {
	for {
		ids, err := j.ended(ctx, before, "swept_at = 0")
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if err := j.sweep(ctx, id, now); err != nil {
				return err
			}
		}
	}
}

// sweep removes the results of one task.
func (j *Janitor) sweep(ctx context.Context, id string, now int64) error {
	if err := j.sweepBlobs(ctx, id); err != nil {
		return err
	}
	for _, table := range []string{"crawl_results", "crawl_events", "crawl_frontier"} {
		if err := j.removeOf(ctx, table, id); err != nil {
			return err
		}
	}
	return j.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewUpdate().Model((*schema.Task)(nil)).Set("swept_at = ?", now).Where("id = ?", id).Exec(ctx)
		return err
	})
}

func (j *Janitor) sweepBlobs(ctx context.Context, id string) error {
	var keys []string
	err := j.DB.Read().NewSelect().Model((*schema.Result)(nil)).ColumnExpr("DISTINCT content_key").
		Where("task_id = ? AND content_key <> ''", id).Scan(ctx, &keys)
	if err != nil {
		return fmt.Errorf("list blobs of task %s: %w", id, err)
	}
	for _, key := range keys {
		if err := j.Blobs.Delete(ctx, key); err != nil {
			return fmt.Errorf("remove a blob of task %s: %w", id, err)
		}
	}
	return nil
}

// removeOf removes all rows that a table has of a task, which are few.
func (j *Janitor) removeOf(ctx context.Context, table, id string) error {
	err := j.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewDelete().Table(table).Where("task_id = ?", id).Exec(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove %s of task %s: %w", table, id, err)
	}
	return nil
}

func (j *Janitor) removeTasks(ctx context.Context, before int64) error {
	for {
		ids, err := j.ended(ctx, before, "swept_at > 0")
		if err != nil || len(ids) == 0 {
			return err
		}
		err = j.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
			_, err := tx.NewDelete().Model((*schema.Task)(nil)).Where("id IN (?)", bun.List(ids)).Exec(ctx)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove old tasks: %w", err)
		}
	}
}

// remove removes rows of a table, by a column that tells their age.
func (j *Janitor) remove(ctx context.Context, table, age, which string, before int64) error {
	for {
		var ages []int64
		err := j.DB.Read().NewSelect().Table(table).Column(age).Where(which, before).Order(age).Limit(rows).Scan(ctx, &ages)
		if err != nil {
			return fmt.Errorf("list old %s: %w", table, err)
		}
		if len(ages) == 0 {
			return nil
		}
		err = j.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
			_, err := tx.NewDelete().Table(table).Where(which, before).Where("? <= ?", bun.Ident(age), ages[len(ages)-1]).Exec(ctx)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove old %s: %w", table, err)
		}
	}
}

func (j *Janitor) removeUsers(ctx context.Context) error {
	return j.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewDelete().Table("crawl_users").
			Where("NOT EXISTS (SELECT 1 FROM crawl_tasks WHERE crawl_tasks.user_id = crawl_users.user_id)").Exec(ctx)
		if err != nil {
			return fmt.Errorf("remove users without tasks: %w", err)
		}
		return nil
	})
}
