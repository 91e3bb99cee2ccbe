// Package usage sums what the ledger has booked.
package usage

import (
	"context"
	"fmt"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// Row is the sum of one day and model. Tool calls stand on a row without a
// model.
type Row struct {
	Day          string
	Model        string
	InputTokens  int64
	OutputTokens int64
	CachedTokens int64
	ModelCalls   int
	ToolCalls    int
	CostUSD      float64 `bun:"cost_usd"`
}

// Store reads the ledger.
type Store struct {
	DB  *store.DB
	Now func() time.Time
}

// Days sums the last days of the user, today included, newest first.
func (s *Store) Days(ctx context.Context, userID string, days int) ([]Row, error) {
	since := s.Now().UTC().AddDate(0, 0, 1-days).Format(time.DateOnly)
	var rows []Row
	err := s.DB.Read().NewSelect().Model((*schema.LedgerRow)(nil)).
		Column("day", "model").
		ColumnExpr("SUM(input_tokens) AS input_tokens").
		ColumnExpr("SUM(output_tokens) AS output_tokens").
		ColumnExpr("SUM(cached_tokens) AS cached_tokens").
		ColumnExpr("SUM(CASE WHEN kind = ? THEN 1 ELSE 0 END) AS model_calls", schema.LedgerModel).
		ColumnExpr("SUM(CASE WHEN kind = ? THEN 1 ELSE 0 END) AS tool_calls", schema.LedgerTool).
		ColumnExpr("SUM(cost_usd) AS cost_usd").
		Where("user_id = ? AND day >= ?", userID, since).
		Group("day", "model").Order("day DESC", "model").Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("sum usage: %w", err)
	}
	return rows, nil
}
