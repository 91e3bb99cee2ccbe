package task

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// Get reads a task of a user.
func (s *Store) Get(ctx context.Context, userID, taskID string) (schema.Task, error) {
	return get(ctx, s.DB.Read(), userID, taskID)
}

func get(ctx context.Context, db bun.IDB, userID, taskID string) (t schema.Task, err error) {
	err = db.NewSelect().Model(&t).Where("id = ? AND user_id = ?", taskID, userID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return t, ErrNotFound
	}
	if err != nil {
		return t, fmt.Errorf("read task %s: %w", taskID, err)
	}
	return t, nil
}

// List reads at most limit tasks of a user, newest first, older than the one
// named before; empty for the newest. An empty status is every status.
func (s *Store) List(ctx context.Context, userID, status, before string, limit int) (tasks []schema.Task, err error) {
	q := s.DB.Read().NewSelect().Model(&tasks).Where("user_id = ?", userID).Order("id DESC").Limit(int64(limit))
	if status != "" {
		q = q.Where("status = ?", status)
	}
	if before != "" {
		q = q.Where("id < ?", before)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	return tasks, nil
}

// Results reads at most limit results after a place. The task must be known to be
// the user's.
func (s *Store) Results(ctx context.Context, taskID string, after, limit int) (rows []schema.Result, err error) {
	err = s.DB.Read().NewSelect().Model(&rows).Where("task_id = ? AND seq > ?", taskID, after).
		Order("seq").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read results of task %s: %w", taskID, err)
	}
	return rows, nil
}

// First reads the first results that came, or that did not. The task must be
// known to be the user's.
func (s *Store) First(ctx context.Context, taskID string, ok bool, limit int) (rows []schema.Result, err error) {
	q := s.DB.Read().NewSelect().Model(&rows).Where("task_id = ? AND ok = ?", taskID, ok).Order("seq").Limit(int64(limit))
	if !ok {
		q = q.ExcludeColumn("data")
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("read results of task %s: %w", taskID, err)
	}
	return rows, nil
}

// Events reads at most limit logged events after a sequence number. The task must
// be known to be the user's.
func (s *Store) Events(ctx context.Context, taskID string, after, limit int) ([]*pb.CrawlEvent, error) {
	var rows []schema.Event
	err := s.DB.Read().NewSelect().Model(&rows).Where("task_id = ? AND seq > ?", taskID, after).
		Order("seq").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read events of task %s: %w", taskID, err)
	}
	events := make([]*pb.CrawlEvent, len(rows))
	for i, row := range rows {
		e := &pb.CrawlEvent{}
		if err := proto.Unmarshal(row.Data, e); err != nil {
			return nil, fmt.Errorf("decode event %d of task %s: %w", row.Seq, taskID, err)
		}
		e.Seq = int32(row.Seq)
		events[i] = e
	}
	return events, nil
}

// Origins are the hosts of a task, by name alone.
func (s *Store) Origins(ctx context.Context, taskID string) (origins []string, err error) {
	err = s.DB.Read().NewSelect().Model((*schema.Address)(nil)).ColumnExpr("DISTINCT origin").
		Where("task_id = ? AND origin <> ''", taskID).Order("origin").Scan(ctx, &origins)
	if err != nil {
		return nil, fmt.Errorf("read origins of task %s: %w", taskID, err)
	}
	return origins, nil
}
