// Package idempotency makes requests safe to repeat: a key that a caller sends
// along stands for what the request made, for a day.
package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// Life is how long a key is kept.
const Life = 24 * time.Hour

// ErrReused says that the key came with another body before.
var ErrReused = errors.New("idempotency: the key was used with another body")

// Key is what a caller sent, and with what. The zero Key is none.
type Key struct {
	Route, Key, BodySHA256 string
}

// Take stores the key of a user for refID, or returns what it was stored for
// before. Of two requests at once the second waits here for the first.
func Take(ctx context.Context, tx bun.IDB, now time.Time, userID string, k Key, refID string) (earlier string, err error) {
	if k.Key == "" {
		return "", nil
	}
	row := schema.IdempotencyKey{
		UserID: userID, Route: k.Route, IdemKey: k.Key, BodySHA256: k.BodySHA256, RefID: refID, CreatedAt: now.UnixMilli(),
	}
	res, err := tx.NewInsert().Model(&row).Ignore().Exec(ctx)
	if err != nil {
		return "", fmt.Errorf("store idempotency key: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return "", err
	}
	var stored schema.IdempotencyKey
	err = store.ForUpdate(tx.NewSelect().Model(&stored).
		Where("user_id = ? AND route = ? AND idem_key = ?", userID, k.Route, k.Key)).Scan(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("read idempotency key: %w", err)
	case stored.CreatedAt <= now.Add(-Life).UnixMilli():
		if _, err := tx.NewUpdate().Model(&row).WherePK().Exec(ctx); err != nil {
			return "", fmt.Errorf("renew idempotency key: %w", err)
		}
		return "", nil
	case stored.BodySHA256 != k.BodySHA256:
		return "", ErrReused
	}
	return stored.RefID, nil
}
