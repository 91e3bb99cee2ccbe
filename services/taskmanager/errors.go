package taskmanager

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/dispatch"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/task"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/watch"
)

// Reasons of errors.
const (
	ReasonLeaseLost          = "LEASE_LOST"
	ReasonKeyReused          = "KEY_REUSED"
	ReasonTooManyTasks       = "TOO_MANY_TASKS"
	ReasonContentUnavailable = "CONTENT_UNAVAILABLE"
	ReasonDatabase           = "DATABASE_UNAVAILABLE"
	ReasonDiskFull           = "DISK_FULL"
	ReasonShuttingDown       = "SHUTTING_DOWN"
)

const (
	tasksRetry    = 5 * time.Second
	databaseRetry = time.Second
)

// shaped is what a caller is told about an error.
func shaped(err error, taskID string) error {
	if ahead, ok := errors.AsType[*watch.AheadError](err); ok {
		return rpcerr.InvalidArgument("after_seq", fmt.Sprintf("the task has %d events, and %d is none of them", ahead.LastSeq, ahead.After))
	}
	if part, ok := errors.AsType[*frontier.PartError](err); ok {
		return rpcerr.InvalidArgument("part", fmt.Sprintf("part %d is next", part.Want))
	}
	if foreign, ok := errors.AsType[*frontier.ForeignError](err); ok {
		return rpcerr.InvalidArgument(fmt.Sprintf("pages[%d].url_key", foreign.Index), "it is no address of this lease, or named twice")
	}
	if blob, ok := errors.AsType[*frontier.BlobError](err); ok {
		return rpcerr.InvalidArgument(fmt.Sprintf("pages[%d].content_ref.key", blob.Index), "it must be crawl/<task>/<sha256> of this task and this blob")
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, task.ErrNotFound):
		return rpcerr.NotFound("task", taskID)
	case errors.Is(err, task.ErrKeyReused):
		return rpcerr.New(codes.Aborted, ReasonKeyReused, "This Idempotency-Key came with another body before. Use a new key for a new request.")
	case errors.Is(err, task.ErrTooMany):
		return rpcerr.New(codes.ResourceExhausted, ReasonTooManyTasks, "Too many of your crawl tasks have not ended. Let some end, or cancel some.").WithRetry(tasksRetry)
	case errors.Is(err, frontier.ErrLost):
		return rpcerr.New(codes.Aborted, ReasonLeaseLost, "The lease has ended; its addresses may be with somebody else. Nothing was recorded.")
	case errors.Is(err, dispatch.ErrDraining):
		return rpcerr.New(codes.Unavailable, ReasonShuttingDown, "This task manager is being stopped; ask another, or again.").WithRetry(databaseRetry)
	case errors.Is(err, store.ErrDiskFull):
		return rpcerr.New(codes.Unavailable, ReasonDiskFull, "The disk of the task manager is full; nothing was recorded. Free some space; what is under way goes on by itself.").WithRetry(tasksRetry).WithCause(err)
	case errors.Is(err, store.ErrUnknownCommit): // sent again, a part is answered as it was
		return rpcerr.New(codes.Unavailable, ReasonDatabase, "It is not known whether this was recorded. Send it again.").WithRetry(databaseRetry).WithCause(err)
	case store.IsUnavailable(err):
		return rpcerr.New(codes.Unavailable, ReasonDatabase, "Crawl tasks cannot be read or written at the moment. Try again.").WithRetry(databaseRetry).WithCause(err)
	}
	return err
}
