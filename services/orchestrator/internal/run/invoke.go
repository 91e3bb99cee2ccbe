package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/idempotency"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// BeginInvoke writes a call without a run ahead, marked as about to be made. A
// key that was used before returns the call that it made, attached.
func (s *Store) BeginInvoke(ctx context.Context, c *schema.ToolCall, k idempotency.Key) (attached bool, err error) {
	made := *c
	err = once(ctx, s.DB.Write, func(ctx context.Context, tx bun.IDB) error {
		attached = false
		earlier, err := idempotency.Take(ctx, tx, s.Now(), made.UserID, k, made.ID)
		if err != nil {
			return err
		}
		if earlier != "" {
			attached = true
			*c = schema.ToolCall{}
			return tx.NewSelect().Model(c).Where("id = ? AND user_id = ?", earlier, made.UserID).Scan(ctx)
		}
		*c = made
		now := s.Now().UnixMilli()
		c.State, c.Attempt, c.CreatedAt, c.StartedAt = schema.CallDispatching, 1, now, now
		if _, err := tx.NewInsert().Model(c).Exec(ctx); err != nil {
			return fmt.Errorf("store call: %w", err)
		}
		return nil
	}, func(ctx context.Context, tx bun.IDB) (bool, error) {
		return stored(ctx, tx.NewSelect().Model((*schema.ToolCall)(nil)).Where("id = ?", made.ID))
	})
	return attached, err
}

// EndInvoke stores the end of a call without a run.
func (s *Store) EndInvoke(ctx context.Context, c *schema.ToolCall) error {
	return once(ctx, s.DB.Write, func(ctx context.Context, tx bun.IDB) error {
		return s.endCalls(ctx, tx, []*schema.ToolCall{c})
	}, func(ctx context.Context, tx bun.IDB) (bool, error) {
		return stored(ctx, tx.NewSelect().Model((*schema.ToolCall)(nil)).Where("id = ? AND state != ?", c.ID, schema.CallDispatching))
	})
}

// LoseInvokes ends the calls without a run that a dead process had begun before
// the given time: what became of them is unknown.
func (s *Store) LoseInvokes(ctx context.Context, before time.Time) error {
	return s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewUpdate().Model((*schema.ToolCall)(nil)).
			Set("state = ?, is_error = ?, reason = ?, ended_at = ?", schema.CallUnknown, true, "OUTCOME_UNKNOWN", s.Now().UnixMilli()).
			Where("run_id = '' AND state = ? AND started_at <= ?", schema.CallDispatching, before.UnixMilli()).Exec(ctx)
		return err
	})
}

// Call reads a tool call of a user, with its result.
func (s *Store) Call(ctx context.Context, userID, id string) (schema.ToolCall, error) {
	var c schema.ToolCall
	err := s.DB.Read().NewSelect().Model(&c).Where("id = ? AND user_id = ?", id, userID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return c, ErrNotFound
	}
	if err != nil {
		return c, fmt.Errorf("read call %s: %w", id, err)
	}
	return c, nil
}
