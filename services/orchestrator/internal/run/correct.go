package run

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// Correct stores what came of asking a model for the arguments of a planned call
// once more: the call as it is planned now, and the model call, booked, whose
// state is ModelCallCorrected or ModelCallFailed; nil when none was made.
func (s *Store) Correct(ctx context.Context, l Lease, mc *schema.ModelCall, c schema.ToolCall, events ...*pb.RunEvent) error {
	return s.Commit(ctx, l, func(ctx context.Context, tx bun.IDB) error {
		if mc != nil {
			if err := s.endCorrection(ctx, tx, *mc); err != nil {
				return err
			}
		}
		_, err := tx.NewUpdate().Model(&c).WherePK().Column("args_canonical", "args_sha256", "effect_key", "decision").Exec(ctx)
		if err != nil {
			return fmt.Errorf("store corrected arguments of call %s: %w", c.ID, err)
		}
		return nil
	}, events...)
}

func (s *Store) endCorrection(ctx context.Context, tx bun.IDB, mc schema.ModelCall) error {
	if mc.State != schema.ModelCallCorrected {
		return s.failCall(ctx, tx, mc)
	}
	mc.EndedAt = s.Now().UnixMilli()
	if _, err := tx.NewUpdate().Model(&mc).WherePK().Exec(ctx); err != nil {
		return fmt.Errorf("store correction: %w", err)
	}
	return s.bookModel(ctx, tx, mc)
}
