package task

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// KeyLife is how long an idempotency key is kept.
const KeyLife = 24 * time.Hour

// take stores the key of a user for a task, or returns the task it was stored for
// before. Of two requests at once the second waits here for the first.
func take(ctx context.Context, tx bun.IDB, now int64, userID string, k Key, taskID string) (earlier string, err error) {
	if k.Key == "" {
		return "", nil
	}
	row := schema.IdempotencyKey{UserID: userID, IdemKey: k.Key, BodySHA256: k.BodySHA256, TaskID: taskID, CreatedAt: now}
	res, err := tx.NewInsert().Model(&row).Ignore().Exec(ctx)
	if err != nil {
		return "", fmt.Errorf("store idempotency key: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return "", err
	}
	var stored schema.IdempotencyKey
	err = store.ForUpdate(tx.NewSelect().Model(&stored).Where("user_id = ? AND idem_key = ?", userID, k.Key)).Scan(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("read idempotency key: %w", err)
	case stored.CreatedAt <= now-KeyLife.Milliseconds():
		if _, err := tx.NewUpdate().Model(&row).WherePK().Exec(ctx); err != nil {
			return "", fmt.Errorf("renew idempotency key: %w", err)
		}
		return "", nil
	case stored.BodySHA256 != k.BodySHA256:
		return "", ErrKeyReused
	}
	return stored.TaskID, nil
}
