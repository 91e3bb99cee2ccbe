package task

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/ledger"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// Cancel ends a task of a user. One that has ended stays as it is.
func (s *Store) Cancel(ctx context.Context, userID, taskID string) (schema.Task, error) {
	return s.end(ctx, userID, taskID, schema.StatusCancelled, "")
}

// Fail ends a task that nobody can bring to its end.
func (s *Store) Fail(ctx context.Context, userID, taskID, why string) (schema.Task, error) {
	return s.end(ctx, userID, taskID, schema.StatusFailed, why)
}

func (s *Store) end(ctx context.Context, userID, taskID, status, why string) (schema.Task, error) {
	var t schema.Task
	err := s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var err error
		if t, err = get(ctx, tx, userID, taskID); err != nil || t.Ended() {
			return err
		}
		now, err := s.Clock(ctx, tx)
		if err != nil {
			return err
		}
		book, err := ledger.Open(ctx, tx, now, taskID)
		if errors.Is(err, sql.ErrNoRows) { // ended meanwhile
			t, err = get(ctx, tx, userID, taskID)
			return err
		}
		if err != nil {
			return err
		}
		book.Task.ErrorMessage = why
		if err := book.End(ctx, status); err != nil {
			return err
		}
		if err := book.Save(ctx); err != nil {
			return err
		}
		t = *book.Task
		return nil
	})
	return t, err
}
