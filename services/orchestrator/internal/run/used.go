package run

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// Used is what the model calls of runs used: also those that failed or were cut
// off, since they are paid for like the others. Every run asked for has a usage.
// The runs must be known to be the user's.
func (s *Store) Used(ctx context.Context, runIDs ...string) (map[string]*pb.Usage, error) {
	return used(ctx, s.DB.Read(), runIDs...)
}

func used(ctx context.Context, db bun.IDB, runIDs ...string) (map[string]*pb.Usage, error) {
	out := make(map[string]*pb.Usage, len(runIDs))
	for _, id := range runIDs {
		out[id] = &pb.Usage{}
	}
	if len(runIDs) == 0 {
		return out, nil
	}
	var calls []schema.ModelCall
	err := db.NewSelect().Model(&calls).
		Column("run_id", "state", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "usage_estimated").
		Where("run_id IN (?)", bun.List(runIDs)).Where("state IN (?)", bun.List([]string{schema.ModelCallDone, schema.ModelCallCorrected, schema.ModelCallFailed})).
		Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what runs used: %w", err)
	}
	for _, c := range calls {
		AddUsage(out[c.RunID], c)
	}
	return out, nil
}

// AddUsage adds what a model call used. One that never got as far as to use
// anything, such as a refused one, counts for nothing.
func AddUsage(to *pb.Usage, c schema.ModelCall) {
	if c.State != schema.ModelCallDone && c.State != schema.ModelCallCorrected && unused(c) {
		return
	}
	to.InputTokens += int32(c.InputTokens)
	to.OutputTokens += int32(c.OutputTokens)
	to.CachedTokens += int32(c.CachedTokens)
	to.ReasoningTokens += int32(c.ReasoningTokens)
	to.ModelCalls++
	to.Estimated = to.Estimated || c.UsageEstimated
}

func unused(c schema.ModelCall) bool { return c.InputTokens == 0 && c.OutputTokens == 0 }

// Book books what a model call used whose run is gone or somebody else's by now:
// it cannot be ended any more, but it is paid for. Booking twice is booking once.
func (s *Store) Book(ctx context.Context, mc schema.ModelCall) error {
	if unused(mc) {
		return nil
	}
	return s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error { return s.bookModel(ctx, tx, mc) })
}
