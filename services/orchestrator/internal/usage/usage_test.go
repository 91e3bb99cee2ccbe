package usage

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema/schematest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatIsBookedIsSummedByDayAndModel(t *testing.T) {
	db := schematest.Open(t)
	// Past midnight in Shanghai it is the day before in UTC, by which days go.
	now := time.Date(2026, 3, 2, 1, 0, 0, 0, time.FixedZone("CST", 8*3600))
	s := &Store{DB: db, Now: func() time.Time { return now }}
	if rows, err := s.Days(t.Context(), "ann", 30); err != nil || len(rows) != 0 {
		t.Fatalf("at first %v, %v", rows, err)
	}
	big := 2_000_000_000
	rows := []schema.LedgerRow{
		{UserID: "ann", Kind: schema.LedgerModel, Day: "2026-03-01", Model: "glm-5", InputTokens: 10, OutputTokens: 2, CachedTokens: 1},
		{UserID: "ann", Kind: schema.LedgerModel, Day: "2026-03-01", Model: "glm-5", InputTokens: 5, OutputTokens: 3},
		{UserID: "ann", Kind: schema.LedgerModel, Day: "2026-03-01", Model: "gpt", InputTokens: big, OutputTokens: big},
		{UserID: "ann", Kind: schema.LedgerModel, Day: "2026-03-01", Model: "gpt", InputTokens: big, OutputTokens: big, CostUSD: 0.5},
		{UserID: "ann", Kind: schema.LedgerTool, Day: "2026-03-01", Tool: "web_search", CostUSD: 0.25},
		{UserID: "ann", Kind: schema.LedgerTool, Day: "2026-03-01", Tool: "fetch_page"},
		{UserID: "ann", Kind: schema.LedgerModel, Day: "2026-02-28", Model: "glm-5", InputTokens: 7},
		{UserID: "ann", Kind: schema.LedgerModel, Day: "2026-02-27", Model: "glm-5", InputTokens: 9},
		{UserID: "bob", Kind: schema.LedgerModel, Day: "2026-03-01", Model: "glm-5", InputTokens: 99},
	}
	for i := range rows {
		rows[i].CallID = fmt.Sprint(i)
	}
	if err := db.Write(t.Context(), func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&rows).Exec(ctx)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	today := []Row{
		{Day: "2026-03-01", ToolCalls: 2, CostUSD: 0.25},
		{Day: "2026-03-01", Model: "glm-5", InputTokens: 15, OutputTokens: 5, CachedTokens: 1, ModelCalls: 2},
		{Day: "2026-03-01", Model: "gpt", InputTokens: 2 * int64(big), OutputTokens: 2 * int64(big), ModelCalls: 2, CostUSD: 0.5},
	}
	yesterday := Row{Day: "2026-02-28", Model: "glm-5", InputTokens: 7, ModelCalls: 1}
	for days, want := range map[int][]Row{1: today, 2: append(today[:3:3], yesterday)} {
		got, err := s.Days(t.Context(), "ann", days)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d days (-want +got):\n%s", days, diff)
		}
	}
}
