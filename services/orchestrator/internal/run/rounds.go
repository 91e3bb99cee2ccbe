package run

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/taint"
)

// BeginCall writes a model call ahead. Calls of the run that were begun and not
// finished are abandoned: their owner is gone.
func (s *Store) BeginCall(ctx context.Context, l Lease, userID, model string, round int, events ...*pb.RunEvent) (schema.ModelCall, error) {
	var mc schema.ModelCall
	err := s.Commit(ctx, l, func(ctx context.Context, tx bun.IDB) error {
		mc = schema.ModelCall{ // a new one each time: the one before may be there, and is abandoned
			ID: ident.New(schema.ModelCallPrefix), RunID: l.RunID, UserID: userID, Round: round,
			State: schema.ModelCallStarted, Model: model, StartedAt: s.Now().UnixMilli(),
		}
		if err := abandonCalls(ctx, tx, l.RunID, s.Now()); err != nil {
			return err
		}
		if err := tx.NewSelect().Model((*schema.ModelCall)(nil)).ColumnExpr("COALESCE(MAX(attempt), 0) + 1").
			Where("run_id = ? AND round = ?", l.RunID, round).Scan(ctx, &mc.Attempt); err != nil {
			return fmt.Errorf("count model calls: %w", err)
		}
		if _, err := tx.NewInsert().Model(&mc).Exec(ctx); err != nil {
			return fmt.Errorf("store model call: %w", err)
		}
		_, err := tx.NewUpdate().Model((*schema.Run)(nil)).Set("rounds = ?", round).Where("id = ?", l.RunID).Exec(ctx)
		return err
	}, events...)
	return mc, err
}

// abandonCalls marks the model calls of a run that nobody will finish.
func abandonCalls(ctx context.Context, tx bun.IDB, runID string, now time.Time) error {
	_, err := tx.NewUpdate().Model((*schema.ModelCall)(nil)).
		Set("state = ?, ended_at = ?", schema.ModelCallAbandoned, now.UnixMilli()).
		Where("run_id = ? AND state = ?", runID, schema.ModelCallStarted).Exec(ctx)
	if err != nil {
		return fmt.Errorf("abandon model calls of run %s: %w", runID, err)
	}
	return nil
}

// FailCall ends a model call that gave no answer. What it used is booked.
func (s *Store) FailCall(ctx context.Context, l Lease, mc schema.ModelCall, events ...*pb.RunEvent) error {
	return s.Commit(ctx, l, func(ctx context.Context, tx bun.IDB) error { return s.failCall(ctx, tx, mc) }, events...)
}

func (s *Store) failCall(ctx context.Context, tx bun.IDB, mc schema.ModelCall) error {
	mc.State, mc.EndedAt = schema.ModelCallFailed, s.Now().UnixMilli()
	_, err := tx.NewUpdate().Model(&mc).WherePK().Column("state", "error", "request_id", "ended_at",
		"input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "usage_estimated").Exec(ctx)
	if err != nil {
		return fmt.Errorf("end model call: %w", err)
	}
	if unused(mc) {
		return nil
	}
	return s.bookModel(ctx, tx, mc)
}

// FinishCall stores a model's whole answer, the calls that it proposed as
// planned, and what it used, before any of the calls is made.
func (s *Store) FinishCall(ctx context.Context, l Lease, mc schema.ModelCall, calls []schema.ToolCall, events ...*pb.RunEvent) error {
	mc.State, mc.EndedAt = schema.ModelCallDone, s.Now().UnixMilli()
	return s.Commit(ctx, l, func(ctx context.Context, tx bun.IDB) error {
		if _, err := tx.NewUpdate().Model(&mc).WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("store answer of the model: %w", err)
		}
		if len(calls) > 0 {
			if _, err := tx.NewInsert().Model(&calls).Exec(ctx); err != nil {
				return fmt.Errorf("store planned calls: %w", err)
			}
		}
		if err := s.bookModel(ctx, tx, mc); err != nil {
			return err
		}
		return progressed(ctx, tx, l.RunID)
	}, events...)
}

// progressed forgets the takeovers of a run: it was brought on.
func progressed(ctx context.Context, tx bun.IDB, runID string) error {
	_, err := tx.NewUpdate().Model((*schema.Run)(nil)).Set("takeovers = 0").Where("id = ? AND takeovers > 0", runID).Exec(ctx)
	return err
}

func (s *Store) bookModel(ctx context.Context, tx bun.IDB, mc schema.ModelCall) error {
	return s.book(ctx, tx, schema.LedgerRow{
		CallID: mc.ID, UserID: mc.UserID, Kind: schema.LedgerModel, Model: mc.Model,
		InputTokens: mc.InputTokens, OutputTokens: mc.OutputTokens, CachedTokens: mc.CachedTokens,
	})
}

// book writes a ledger row once.
func (s *Store) book(ctx context.Context, tx bun.IDB, row schema.LedgerRow) error {
	row.Day = s.Now().UTC().Format(time.DateOnly)
	if _, err := tx.NewInsert().Model(&row).Ignore().Exec(ctx); err != nil {
		return fmt.Errorf("book usage: %w", err)
	}
	return nil
}

// Dispatch marks calls as about to be made, each with one attempt more. After a
// crash it is this mark that says whether a call may have had its effect.
func (s *Store) Dispatch(ctx context.Context, l Lease, calls []*schema.ToolCall) error {
	now := s.Now().UnixMilli()
	change := func(ctx context.Context, tx bun.IDB) error { return dispatch(ctx, tx, calls, now) }
	if err := s.Commit(ctx, l, change); err != nil {
		return err
	}
	for _, c := range calls {
		c.State, c.StartedAt, c.Attempt = schema.CallDispatching, now, c.Attempt+1
	}
	return nil
}

func dispatch(ctx context.Context, tx bun.IDB, calls []*schema.ToolCall, now int64) error {
	for _, c := range calls {
		_, err := tx.NewUpdate().Model((*schema.ToolCall)(nil)).
			Set("state = ?, attempt = ?, started_at = ?, trace_id = ?", schema.CallDispatching, c.Attempt+1, now, c.TraceID).
			Where("id = ?", c.ID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("mark call %s: %w", c.ID, err)
		}
	}
	return nil
}

// FinishTools stores ended calls with their results. origins are those of the
// whole run from now on.
func (s *Store) FinishTools(ctx context.Context, l Lease, origins taint.Set, calls []*schema.ToolCall, events ...*pb.RunEvent) error {
	return s.Commit(ctx, l, func(ctx context.Context, tx bun.IDB) error {
		if err := s.endCalls(ctx, tx, calls); err != nil {
			return err
		}
		if _, err := tx.NewUpdate().Model((*schema.Run)(nil)).Set("origins = ?", origins).Where("id = ?", l.RunID).Exec(ctx); err != nil {
			return fmt.Errorf("store origins: %w", err)
		}
		return progressed(ctx, tx, l.RunID)
	}, events...)
}

func (s *Store) endCalls(ctx context.Context, tx bun.IDB, calls []*schema.ToolCall) error {
	for _, c := range calls {
		_, err := tx.NewUpdate().Model(c).WherePK().
			ExcludeColumn("id", "run_id", "conversation_id", "user_id", "created_at").Exec(ctx)
		if err != nil {
			return fmt.Errorf("store result of call %s: %w", c.ID, err)
		}
		if c.Attempt == 0 {
			continue // never made
		}
		if err := s.book(ctx, tx, schema.LedgerRow{
			CallID: c.ID, UserID: c.UserID, Kind: schema.LedgerTool, Tool: c.Name, CostUSD: c.CostUSD,
		}); err != nil {
			return err
		}
	}
	return nil
}
