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

// maxExpired is how many stored results are removed at once.
const maxExpired = 500

// ExpiredBlobs are the keys of stored results beyond their retention, oldest
// first. Whoever has removed them gives them to Clean, which removes the rows
// that name them: in this order nothing is left in the blob store that no row
// knows of.
func ExpiredBlobs(ctx context.Context, db bun.IDB, now time.Time) (keys []string, err error) {
	err = db.NewSelect().Model((*ToolCall)(nil)).Column("result_blob").
		Where("run_id = '' AND result_blob <> '' AND created_at < ?", now.Add(-keepInvokes).UnixMilli()).
		Order("id").Limit(maxExpired).Scan(ctx, &keys)
	if err != nil {
		return nil, fmt.Errorf("list old results: %w", err)
	}
	return keys, nil
}

// Clean removes rows beyond their retention. Calls whose results are in the blob
// store go only when those have been removed.
func Clean(ctx context.Context, tx bun.IDB, now time.Time, removed []string) error {
	for _, q := range []*bun.DeleteQuery{
		tx.NewDelete().Table("idempotency_keys").Where("created_at < ?", now.Add(-keepKeys).UnixMilli()),
		tx.NewDelete().Table("tool_calls").Where("run_id = '' AND created_at < ?", now.Add(-keepInvokes).UnixMilli()).
			Where("result_blob IN ?", bun.Tuple(append([]string{""}, removed...))),
		tx.NewDelete().Table("usage_ledger").Where("day < ?", now.Add(-keepLedger).UTC().Format(time.DateOnly)),
	} {
		if _, err := q.Exec(ctx); err != nil {
			return fmt.Errorf("remove old rows: %w", err)
		}
	}
	return nil
}
