package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/dispatch"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// Ending is how a call ends.
type Ending struct {
	Tool    *registry.Tool // nil when there is none
	State   string
	Outcome dispatch.Outcome
	// Limit is how many characters of the result the model gets.
	Limit int
	// At is when the call ended, in Unix milliseconds.
	At int64
	// Log is told when the blob store is away, and when it stays away.
	Log *slog.Logger
}

// Settle puts an ending into a call: its state, its result, and where its
// untrusted parts come from. While the blob store is away it tries again until
// ctx ends. The call ends nevertheless then, as failed and with a part of its
// result; the error says why, and is logged already.
func (e Ending) Settle(ctx context.Context, keeper *result.Keeper, c *schema.ToolCall) error {
	c.IsError, c.CostUSD, c.EndedAt = e.Outcome.IsError, e.Outcome.CostUSD, e.At
	if e.Outcome.Reason != "" {
		c.Reason = e.Outcome.Reason
	}
	c.Origins = c.Origins.With(e.Outcome.Origins...)
	if e.Tool != nil && e.Tool.Untrusted && c.Attempt > 0 && len(c.Origins) == 0 {
		c.Origins = c.Origins.With(e.Tool.Name + ":*")
	}
	log := e.Log.With("run", c.RunID, "call", c.ID, "tool", c.Name)
	begun, attempts := time.Now(), 0
	failed := run.Patiently(ctx, func() error {
		ctx, stop := outlasting(ctx)
		defer stop()
		err := keeper.Keep(ctx, c, e.Outcome.Content, e.Limit)
		if attempts++; attempts == 1 && errors.Is(err, blob.ErrUnavailable) {
			log.WarnContext(ctx, "a long result waits for the blob store", "error", err)
		}
		return err
	})
	if failed != nil {
		log.ErrorContext(ctx, "a long result was not stored whole",
			"attempts", attempts, "after", time.Since(begun).Round(time.Millisecond), "error", failed)
		c.IsError, c.Reason = true, result.ReasonNotStored
		part := result.Part(e.Outcome.Content, failed, c.Effect == "pure")
		if err := keeper.Keep(context.WithoutCancel(ctx), c, part, e.Limit); err != nil { // a part needs no store
			return errors.Join(failed, err)
		}
		c.Truncated = true
	}
	c.State = e.State
	return failed
}

// end puts an outcome into the call. tool is nil when there is none.
func (t *turn) end(ctx context.Context, c *schema.ToolCall, tool *registry.Tool, state string, out dispatch.Outcome, together int) error {
	kind := ""
	if tool != nil {
		kind = tool.Kind
	}
	ending := Ending{Tool: tool, State: state, Outcome: out, Limit: result.Limit(kind, t.model.ContextWindow, together), At: t.Now().UnixMilli(), Log: t.Log}
	patient, cancel := context.WithTimeout(ctx, t.cfg.ResultPatience)
	defer cancel()
	failed, cause := ending.Settle(patient, t.Results, c), context.Cause(ctx)
	if failed != nil && errors.Is(cause, dispatch.ErrLeft) && c.Effect != "opaque" {
		return cause // the next owner gets the result once more
	}
	return nil
}
