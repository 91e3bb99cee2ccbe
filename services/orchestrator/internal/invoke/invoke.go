// Package invoke runs one tool without a model: what a program or a person asks
// for passes the same registry, gate and limits as what a model proposes, and is
// recorded the same way.
package invoke

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/dispatch"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/engine"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/gate"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/idempotency"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// waitAttached is how often the outcome of a call that somebody else makes is
// looked for.
const waitAttached = 200 * time.Millisecond

// writeTime bounds storing the outcome of a call whose caller has left.
const writeTime = 10 * time.Second

// Invoker runs tools.
type Invoker struct {
	Runs    *run.Store
	Results *result.Keeper
	Tools   *registry.Registry
	Log     *slog.Logger
	Now     func() time.Time
}

// Request asks for one call.
type Request struct {
	Name      string
	Arguments string // JSON text
	// Confirm is the hash of the arguments that a person said yes to.
	Confirm string
	Key     idempotency.Key
}

// Do makes the call and returns it with its result.
func (v *Invoker) Do(ctx context.Context, p auth.Principal, req Request) (schema.ToolCall, error) {
	d := gate.Decide(v.Tools.Snapshot(), gate.Call{Name: req.Name, Arguments: req.Arguments, Exact: true}, 1)
	if err := refused(d, req); err != nil {
		return schema.ToolCall{}, err
	}
	if d.Tool.Sink != "read" && req.Key.Key == "" {
		return schema.ToolCall{}, rpcerr.New(codes.InvalidArgument, "IDEMPOTENCY_KEY_REQUIRED",
			"%s has an effect (%s). Send an Idempotency-Key header, so that a repeated request has it once.", d.Tool.Name, d.Tool.Sink).
			WithField("Idempotency-Key", "it is missing")
	}
	c := schema.ToolCall{
		ID: ident.New(schema.ToolCallPrefix), UserID: p.UserID, Name: d.Tool.Name, Arguments: string(d.Canonical),
		ArgsCanonical: string(d.Canonical), ArgsSHA256: d.Hash, Effect: d.Tool.Effect, Decision: string(d.Verdict),
	}
	c.EffectKey = engine.EffectKey(c.ID, 0, 0, c.Name, c.ArgsSHA256)
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		c.TraceID = sc.TraceID().String()
	}
	attached, err := v.Runs.BeginInvoke(ctx, &c, req.Key)
	if err != nil {
		return c, err
	}
	if attached {
		ctx, cancel := context.WithTimeout(ctx, d.Tool.Timeout+writeTime)
		defer cancel()
		return v.wait(ctx, c)
	}
	if req.Key.Key != "" {
		// Whoever sends the request again gets this call's result, so that it
		// goes on when its caller leaves.
		ctx = context.WithoutCancel(ctx)
	}
	err = v.call(ctx, d, &c)
	return c, err
}

// refused is the error for a call that the gate does not let pass.
func refused(d gate.Decision, req Request) error {
	switch d.Verdict {
	case gate.Allow:
		return nil
	case gate.Ask:
		if req.Confirm == d.Hash {
			return nil
		}
		return rpcerr.New(codes.Aborted, "APPROVAL_REQUIRED", "%s To say yes to these arguments send them again with confirm_args_sha256.", d.Message).
			WithMeta("args_sha256", d.Hash)
	case gate.Deny:
		return rpcerr.New(codes.FailedPrecondition, d.Reason, "%s", d.Message)
	}
	if d.Reason == gate.ReasonUnknownTool {
		return rpcerr.New(codes.NotFound, d.Reason, "%s", d.Message)
	}
	return rpcerr.New(codes.InvalidArgument, d.Reason, "%s", d.Message).WithField("arguments"+path(d.Pointer), d.Message)
}

// path writes a JSON pointer as callers name fields: /urls/3 is .urls[3].
func path(pointer string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch _, err := strconv.ParseUint(part, 10, 32); {
		case part == "":
		case err == nil:
			b.WriteString("[" + part + "]")
		default:
			b.WriteString("." + strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
		}
	}
	return b.String()
}

// call makes the call. The result is stored also when the caller has left.
func (v *Invoker) call(ctx context.Context, d gate.Decision, c *schema.ToolCall) error {
	out := dispatch.Do(ctx, dispatch.Call{
		ID: c.ID, Tool: d.Tool, Canonical: d.Canonical, EffectKey: c.EffectKey, Attempt: 1,
	}, nil)
	c.TraceID = cmp.Or(out.TraceID, c.TraceID)
	state := schema.CallDone
	switch {
	case out.Unknown:
		state = schema.CallUnknown
	case out.Cancelled:
		state = schema.CallCancelled
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	ending := engine.Ending{Tool: d.Tool, State: state, Outcome: out, Limit: result.Limit(d.Tool.Kind, 0, 1), At: v.Now().UnixMilli(), Log: v.Log}
	patient, stop := context.WithTimeout(ctx, writeTime/2)
	defer stop()
	_ = ending.Settle(patient, v.Results, c) // the call has ended nevertheless
	return v.Runs.EndInvoke(ctx, c)
}

// wait is for a request that came twice: it gets the outcome of the first.
func (v *Invoker) wait(ctx context.Context, c schema.ToolCall) (schema.ToolCall, error) {
	tick := time.NewTicker(waitAttached)
	defer tick.Stop()
	for !c.Terminal() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return c, ctx.Err()
		}
		var err error
		if c, err = v.Runs.Call(ctx, c.UserID, c.ID); err != nil {
			return c, fmt.Errorf("wait for call %s: %w", c.ID, err)
		}
	}
	return c, nil
}

// Route names the route of a tool for idempotency keys.
func Route(tool string) string { return "invoke/" + tool }
