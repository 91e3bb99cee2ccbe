package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/taint"
)

// End is how a run ends.
type End struct {
	Status       string // RunCompleted, RunFailed or RunCancelled
	FinishReason string
	Error        *pb.RunError
	// Content is the answer, also an unfinished one.
	Content string
	Origins taint.Set
	Usage   *pb.Usage
	// Model is the id of the model that answered; empty: the run's own.
	Model string
	// Call is a model call that was begun and not finished; nil when there is
	// none.
	Call *schema.ModelCall
	// Events are logged before the last event.
	Events []*pb.RunEvent
}

// last is the event that ends the run.
func (e End) last(r schema.Run) *pb.RunEvent {
	if e.Status == schema.RunFailed {
		return &pb.RunEvent{Event: &pb.RunEvent_Error{Error: e.Error}}
	}
	return &pb.RunEvent{Event: &pb.RunEvent_Done{Done: &pb.Done{
		MessageId: r.MessageID, FinishReason: e.FinishReason, Usage: e.Usage, RunId: r.ID, Model: cmp.Or(e.Model, r.Model),
	}}}
}

// Finish ends a run: it stores the answer, ends the calls that are left, frees
// the conversation and logs done or error. It returns all events logged.
func (s *Store) Finish(ctx context.Context, l Lease, r schema.Run, end End) ([]*pb.RunEvent, error) {
	events := append(slices.Clip(end.Events), end.last(r))
	err := s.Commit(ctx, l, func(ctx context.Context, tx bun.IDB) error { return s.finish(ctx, tx, r, end) }, events...)
	return events, err
}

func (s *Store) finish(ctx context.Context, tx bun.IDB, r schema.Run, end End) error {
	now := s.Now()
	if end.Call != nil {
		if err := s.failCall(ctx, tx, *end.Call); err != nil {
			return err
		}
	}
	if err := errors.Join(abandonCalls(ctx, tx, r.ID, now), cancelCalls(ctx, tx, r.ID, now)); err != nil {
		return err
	}
	var length int
	if err := tx.NewSelect().Model((*schema.Message)(nil)).Column("path_length").Where("id = ?", r.UserMessageID).Scan(ctx, &length); err != nil {
		return fmt.Errorf("read question of run %s: %w", r.ID, err)
	}
	answer := schema.Message{
		ID: r.MessageID, ConversationID: r.ConversationID, UserID: r.UserID, ParentID: r.UserMessageID, PathLength: length + 1,
		Role: schema.RoleAssistant, Content: end.Content, RunID: r.ID, Origins: end.Origins, CreatedAt: now.UnixMilli(),
	}
	if _, err := tx.NewInsert().Model(&answer).Exec(ctx); err != nil {
		return fmt.Errorf("store answer: %w", err)
	}
	_, err := tx.NewUpdate().Model((*schema.Conversation)(nil)).
		Set("live_run = '', active_leaf = ?, updated_at = ?", r.MessageID, now.UnixMilli()).
		Where("id = ? AND live_run = ?", r.ConversationID, r.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("update conversation: %w", err)
	}
	r.Status, r.FinishReason, r.Origins, r.EndedAt, r.LeaseUntil = end.Status, end.FinishReason, end.Origins, now.UnixMilli(), 0
	if e := end.Error; e != nil {
		r.ErrorCode, r.ErrorReason, r.ErrorMessage, r.ErrorRetryable = int(e.Code), e.Reason, e.Message, e.Retryable
	}
	_, err = tx.NewUpdate().Model(&r).WherePK().
		Column("status", "finish_reason", "error_code", "error_reason", "error_message", "error_retryable", "origins", "ended_at", "lease_until").
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("end run: %w", err)
	}
	return nil
}

// Park leaves a run to a person: it has no owner until somebody decides.
func (s *Store) Park(ctx context.Context, l Lease, waitingFor string, events ...*pb.RunEvent) error {
	return s.Commit(ctx, l, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewUpdate().Model((*schema.Run)(nil)).
			Set("status = ?, waiting_for = ?, lease_until = 0", schema.RunWaiting, waitingFor).Where("id = ?", l.RunID).Exec(ctx)
		return err
	}, events...)
}

// RequestCancel asks for the end of a run. A run that nobody owns ends at once;
// of a running one its owner is told. It returns the run as it stands then.
func (s *Store) RequestCancel(ctx context.Context, userID, runID string, owner Owner) (r schema.Run, err error) {
	err = s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var err error
		if r, err = scan(ctx, store.ForUpdate(ofUser(tx, userID, runID)), runID); err != nil || r.Ended() {
			return err
		}
		if r.Status == schema.RunRunning {
			_, err := tx.NewUpdate().Model((*schema.Run)(nil)).Set("cancel_requested = ?", true).Where("id = ?", r.ID).Exec(ctx)
			r.CancelRequested = true
			return err
		}
		// Queued or waiting: take it, whoever may be about to claim it.
		l := Lease{RunID: r.ID, Owner: owner.ID, Epoch: r.LeaseEpoch + 1}
		_, err = tx.NewUpdate().Model((*schema.Run)(nil)).
			Set("status = ?, lease_owner = ?, lease_epoch = ?, waiting_for = ''", schema.RunRunning, l.Owner, l.Epoch).Where("id = ?", r.ID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("take run: %w", err)
		}
		end := End{Status: schema.RunCancelled, FinishReason: "cancelled", Origins: r.Origins}
		if end.Content, end.Model, end.Usage, err = soFar(ctx, tx, r.ID); err != nil {
			return err
		}
		err = s.commit(ctx, tx, l, func(ctx context.Context, tx bun.IDB) error { return s.finish(ctx, tx, r, end) }, []*pb.RunEvent{end.last(r)})
		if err != nil {
			return err
		}
		r, err = get(ctx, tx, userID, runID)
		return err
	})
	return r, err
}

// soFar is the text of the last finished round of a run, the model that wrote it,
// and what all used.
func soFar(ctx context.Context, tx bun.IDB, runID string) (text, model string, usage *pb.Usage, err error) {
	var last []schema.ModelCall
	err = tx.NewSelect().Model(&last).Column("text", "model").Where("run_id = ? AND state = ?", runID, schema.ModelCallDone).
		Order("round DESC").Limit(1).Scan(ctx)
	if err != nil {
		return "", "", nil, fmt.Errorf("read model calls: %w", err)
	}
	for _, c := range last {
		text, model = c.Text, c.Model
	}
	all, err := used(ctx, tx, runID)
	return text, model, all[runID], err
}

// cancelCalls ends the tool calls of a run that have no result.
func cancelCalls(ctx context.Context, tx bun.IDB, runID string, now time.Time) error {
	var open []schema.ToolCall
	err := tx.NewSelect().Model(&open).Column("id", "state", "effect").Where("run_id = ?", runID).
		Where("state IN (?)", bun.List([]string{schema.CallPlanned, schema.CallWaitingApproval, schema.CallDispatching})).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read open calls of run %s: %w", runID, err)
	}
	for i := range open {
		state, reason := open[i].Ending()
		_, err := tx.NewUpdate().Model((*schema.ToolCall)(nil)).
			Set("state = ?, is_error = ?, reason = ?, ended_at = ?", state, true, reason, now.UnixMilli()).
			Where("id = ?", open[i].ID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("end call %s: %w", open[i].ID, err)
		}
	}
	return nil
}
