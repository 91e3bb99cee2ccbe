package schema

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// What is kept for how long. Everything else is kept until it is deleted by its
// owner or with what it belongs to.
const (
	keepKeys    = 24 * time.Hour
	keepInvokes = 30 * 24 * time.Hour
	keepLedger  = 400 * 24 * time.Hour
)

// Clean removes rows beyond their retention. Results of calls without a run
// that are in the blob store are left to its own sweeping.
func Clean(ctx context.Context, tx bun.IDB, now time.Time) error {
	for _, q := range []*bun.DeleteQuery{
		tx.NewDelete().Table("idempotency_keys").Where("created_at < ?", now.Add(-keepKeys).UnixMilli()),
		tx.NewDelete().Table("tool_calls").Where("run_id = '' AND result_blob = '' AND created_at < ?", now.Add(-keepInvokes).UnixMilli()),
		tx.NewDelete().Table("usage_ledger").Where("day < ?", now.Add(-keepLedger).UTC().Format(time.DateOnly)),
	} {
		if _, err := q.Exec(ctx); err != nil {
			return fmt.Errorf("remove old rows: %w", err)
		}
	}
	return nil
}
