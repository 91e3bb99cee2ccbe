package api

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/conversation"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/idempotency"
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
		return keyOfNothing("run")
	case errors.Is(err, run.ErrTooMany):
		return rpcerr.New(codes.ResourceExhausted, "TOO_MANY_RUNS", "Too many of your runs are waiting. Let some end first.").WithRetry(queueRetry)
	}
	return keyError(err)
}

// keyOfNothing is for a key of what is not there any more.
func keyOfNothing(what string) error {
	return rpcerr.New(codes.NotFound, "NOT_FOUND", "The %s that this Idempotency-Key stands for was deleted. Use a new key for a new request.", what)
}

func keyError(err error) error {
	if errors.Is(err, idempotency.ErrReused) {
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
	if end, ok := errors.AsType[*identity.EndError](err); ok {
		return rpcerr.InvalidArgument("expires_in_days", fmt.Sprintf(
			"your own token ends at %s and cannot make one that outlives it; with 0 the new one ends then too", end.At.UTC().Format(time.RFC3339)))
	}
	switch {
	case errors.Is(err, identity.ErrBadToken):
		return BadToken()
	case errors.Is(err, identity.ErrNoScopes):
		return rpcerr.InvalidArgument("scopes", "your own token has none of chat, tools, search, fetch and usage, which a token has when none are named; name what the new one may do")
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
