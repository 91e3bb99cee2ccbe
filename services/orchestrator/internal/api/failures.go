package api

import (
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/conversation"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/identity"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// queueRetry is what a caller with a full queue is told to wait.
const queueRetry = 5 * time.Second

// conversationError is what a caller is told about an error of a conversation
// or of a run in it.
func conversationError(err error, conversationID, messageID string) error {
	if busy, ok := errors.AsType[*run.InProgressError](err); ok {
		return rpcerr.New(codes.Aborted, "RUN_IN_PROGRESS", "The conversation is still being answered. Watch or cancel the run, or wait for its end.").
			WithMeta("run_id", busy.RunID)
	}
	switch {
	case errors.Is(err, run.ErrNoConversation), errors.Is(err, conversation.ErrNotFound):
		return rpcerr.NotFound("conversation", conversationID)
	case errors.Is(err, run.ErrNoMessage):
		return rpcerr.NotFound("message", messageID)
	case errors.Is(err, run.ErrNotFound):
		return rpcerr.New(codes.NotFound, "NOT_FOUND", "The run that this Idempotency-Key stands for was deleted. Use a new key for a new request.")
	case errors.Is(err, run.ErrTooMany):
		return rpcerr.New(codes.ResourceExhausted, "TOO_MANY_RUNS", "Too many of your runs are waiting. Let some end first.").WithRetry(queueRetry)
	}
	return keyError(err)
}

func keyError(err error) error {
	if errors.Is(err, run.ErrKeyReused) {
		return rpcerr.New(codes.Aborted, "KEY_REUSED", "This Idempotency-Key came with another body before. Use a new key for a new request.")
	}
	return err
}

func runError(err error, runID string) error {
	if errors.Is(err, run.ErrNotFound) {
		return rpcerr.NotFound("run", runID)
	}
	return err
}

func tokenError(err error, id string) error {
	if lacking, ok := errors.AsType[*identity.ScopeError](err); ok {
		return rpcerr.New(codes.PermissionDenied, "SCOPE_MISSING", "Your own token lacks the scope %s, so you cannot give it to another.", lacking.Scope).
			WithMeta("scope", lacking.Scope)
	}
	switch {
	case errors.Is(err, identity.ErrNotFound):
		return rpcerr.NotFound("token", id)
	case errors.Is(err, identity.ErrTooMany):
		return rpcerr.New(codes.ResourceExhausted, "TOO_MANY_TOKENS", "You have as many tokens as one can have. Delete some first.")
	}
	return err
}

// failed is the error of a run that failed.
func failed(r schema.Run) error {
	code := codes.Unavailable
	switch r.ErrorCode {
	case 409:
		code = codes.FailedPrecondition
	case 400:
		code = codes.InvalidArgument
	case 429:
		code = codes.ResourceExhausted
	case 500:
		code = codes.Internal
	case 504:
		code = codes.DeadlineExceeded
	}
	err := rpcerr.New(code, r.ErrorReason, "%s", r.ErrorMessage).WithMeta("run_id", r.ID)
	if r.ErrorRetryable && (code == codes.Unavailable || code == codes.ResourceExhausted) {
		err = err.WithRetry(queueRetry)
	}
	return err
}
