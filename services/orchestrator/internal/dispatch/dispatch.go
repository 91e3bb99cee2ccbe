// Package dispatch makes one tool call that the gate allowed: it gives the call
// its deadline and effect key, watches its progress, and turns whatever happens
// into an outcome with words that the model can act on.
package dispatch

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/genai"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	// maxResultBytes is the largest result that is taken from a provider.
	maxResultBytes = 16 << 20
	// settleTime bounds telling a provider that nobody waits any more and
	// asking it how the call ended; askEvery is how often it is asked.
	settleTime = 3 * time.Second
	askEvery   = 50 * time.Millisecond
)

// ErrLeft is the cause of a context that ends because whoever waited for the
// call leaves it to another owner: the call goes on, and is attached to by its
// effect key.
var ErrLeft = errors.New("dispatch: the call is left to another owner")

// Call is one allowed call.
type Call struct {
	ID        string // of the tool call
	Tool      *registry.Tool
	Canonical []byte // arguments
	EffectKey string
	// Conversation that the call is made for; empty: none.
	Conversation string
	// NotAfter is when the right to make the call ends; zero: never.
	NotAfter time.Time
	Attempt  int
}

// Outcome is how a call ended.
type Outcome struct {
	Content string // JSON text
	IsError bool
	// Unknown says that nobody can tell whether the call had its effect.
	Unknown bool
	// Cancelled says that the call was ended because nobody waits for it. Of a
	// call that may have an effect the outcome is then unknown as well.
	Cancelled bool
	Reason    string // of an outcome that did not come from the tool itself
	Origins   []string
	CostUSD   float64
	TraceID   string
	Took      time.Duration
}

// tracer is taken at each use: the provider is set up after this package.
func tracer() trace.Tracer { return otel.Tracer("nanoclaw/orchestrator") }

// Do makes the call. It always has an outcome; ctx is who waits for it.
func Do(ctx context.Context, c Call, progress func(*toolv1.Progress)) Outcome {
	ctx, span := tracer().Start(ctx, genai.ExecuteToolSpanName(c.Tool.Name), trace.WithAttributes(
		genai.OperationName.String(genai.OperationExecuteTool),
		genai.ToolName.String(c.Tool.Name),
		genai.ToolType.String(genai.ToolTypeFunction),
		genai.ToolCallID.String(c.ID),
		attribute.String("nanoclaw.tool.provider", c.Tool.Provider.Name),
		attribute.Int("nanoclaw.tool.attempt", c.Attempt),
	))
	defer span.End()
	begun := time.Now()
	out := do(ctx, c, progress)
	out.Took = time.Since(begun)
	if sc := span.SpanContext(); sc.HasTraceID() {
		out.TraceID = sc.TraceID().String()
	}
	failed := ""
	if out.IsError {
		failed = cmp.Or(out.Reason, genai.ErrorTypeTool)
		span.SetAttributes(genai.ErrorType.String(failed))
		span.SetStatus(otelcodes.Error, failed)
	}
	genai.RecordTool(ctx, c.Tool.Name, out.Took, c.counted(failed))
	return out
}

// counted is the reason under which metrics count a failure. A stranger's
// reasons can be any text, of which each would be a series of its own.
func (c Call) counted(reason string) string {
	if c.Tool.Provider.Foreign && reason != "" && reason != genai.ErrorTypeTool {
		return genai.ErrorTypeOther
	}
	return reason
}

func do(ctx context.Context, c Call, progress func(*toolv1.Progress)) Outcome {
	callCtx, cancel := context.WithTimeout(ctx, c.Tool.Timeout)
	defer cancel()
	if !c.NotAfter.IsZero() {
		callCtx = toolkit.WithNotAfter(callCtx, c.NotAfter)
	}
	if c.Conversation != "" {
		callCtx = toolkit.WithConversation(callCtx, c.Conversation)
	}
	req := &toolv1.CallToolRequest{Name: c.Tool.RemoteName, ArgumentsJson: string(c.Canonical), EffectKey: c.EffectKey}
	got, err := toolkit.Invoke(callCtx, c.Tool.Provider.Client, req, toolkit.InvokeOptions{MaxBytes: maxResultBytes, OnProgress: progress})
	switch {
	case err == nil:
		return Outcome{Content: got.ContentJSON, IsError: got.IsError, Origins: got.Origins, CostUSD: got.CostUSD}
	case ctx.Err() != nil:
		return c.left(ctx)
	default:
		return c.explain(ctx, err)
	}
}

// left is the outcome of a call for which nobody waits any more.
func (c Call) left(ctx context.Context) Outcome {
	if !errors.Is(context.Cause(ctx), ErrLeft) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		c.stop(ctx)
	}
	const message = "The call was cancelled before it had a result."
	out := failure("CANCELLED", message, false)
	if c.Tool.Effect != "pure" {
		out = Unknown(message)
	}
	out.Cancelled = true
	return out
}
