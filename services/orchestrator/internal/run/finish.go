package run

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
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
	// Events are logged before the last event.
	Events []*pb.RunEvent
	// Change is made in the same transaction.
	Change func(ctx context.Context, tx bun.IDB) error
}

// Finish ends a run: it stores the answer, frees the conversation and logs done
// or error. It returns all events logged.
func (s *Store) Finish(ctx context.Context, l Lease, r schema.Run, end End) ([]*pb.RunEvent, error) {
	events := append([]*pb.RunEvent{}, end.Events...)
	if end.Status == schema.RunFailed {
		events = append(events, &pb.RunEvent{Event: &pb.RunEvent_Error{Error: end.Error}})
	} else {
		events = append(events, &pb.RunEvent{Event: &pb.RunEvent_Done{Done: &pb.Done{
			MessageId: r.MessageID, FinishReason: end.FinishReason, Usage: end.Usage, RunId: r.ID,
		}}})
	}
	err := s.Commit(ctx, l, func(ctx context.Context, tx bun.IDB) error {
		if end.Change != nil {
			if err := end.Change(ctx, tx); err != nil {
				return err
			}
		}
		return finish(ctx, tx, r, end, s.Now())
	}, events...)
	return events, err
}

func finish(ctx context.Context, tx bun.IDB, r schema.Run, end End, now time.Time) error {
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
// its last event is returned in events.
func (s *Store) RequestCancel(ctx context.Context, userID, runID string, owner Owner) (r schema.Run, events []*pb.RunEvent, err error) {
	err = s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		events = nil
		var err error
		if r, err = get(ctx, tx, userID, runID); err != nil || r.Ended() {
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
			Set("lease_owner = ?, lease_epoch = ?, waiting_for = ''", l.Owner, l.Epoch).Where("id = ?", r.ID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("take run: %w", err)
		}
		end := End{Status: schema.RunCancelled, FinishReason: "cancelled", Origins: r.Origins, Usage: &pb.Usage{}}
		events = []*pb.RunEvent{{Event: &pb.RunEvent_Done{Done: &pb.Done{
			MessageId: r.MessageID, FinishReason: end.FinishReason, Usage: end.Usage, RunId: r.ID,
		}}}}
		err = s.commit(ctx, tx, l, func(ctx context.Context, tx bun.IDB) error {
			if err := cancelCalls(ctx, tx, r.ID, s.Now()); err != nil {
				return err
			}
			return finish(ctx, tx, r, end, s.Now())
		}, events)
		if err != nil {
			return err
		}
		r, err = get(ctx, tx, userID, runID)
		return err
	})
	return r, events, err
}

// CancelCalls marks every unfinished call of a run as cancelled, in a change.
func cancelCalls(ctx context.Context, tx bun.IDB, runID string, now time.Time) error {
	_, err := tx.NewUpdate().Model((*schema.ToolCall)(nil)).
		Set("state = ?, ended_at = ?", schema.CallCancelled, now.UnixMilli()).
		Where("run_id = ?", runID).
		Where("state IN (?)", bun.In([]string{schema.CallPlanned, schema.CallWaitingApproval, schema.CallDispatching})).Exec(ctx)
	if err != nil {
		return fmt.Errorf("cancel calls of run %s: %w", runID, err)
	}
	return nil
}
