// Package dispatch makes one tool call that the gate allowed: it gives the call
// its deadline and effect key, watches its progress, and turns whatever happens
// into an outcome with words that the model can act on.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/genai"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	// maxResultBytes is the largest result that is taken from a provider.
	maxResultBytes = 16 << 20
	// graceTime is what a provider gets beyond the call's deadline to say how
	// it ended; it keeps the same deadline itself.
	graceTime = 2 * time.Second
	// cancelTime bounds telling a provider that nobody waits any more.
	cancelTime = 3 * time.Second
)

// Call is one allowed call.
type Call struct {
	ID        string // of the tool call
	Tool      *registry.Tool
	Canonical []byte // arguments
	EffectKey string
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
	// Cancelled says that the call was ended because nobody waits for it.
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
	out.TraceID = span.SpanContext().TraceID().String()
	if out.IsError {
		span.SetAttributes(genai.ErrorType.String(orTool(out.Reason)))
		span.SetStatus(otelcodes.Error, orTool(out.Reason))
	}
	return out
}

func orTool(reason string) string {
	if reason == "" {
		return genai.ErrorTypeTool
	}
	return reason
}

func do(ctx context.Context, c Call, progress func(*toolv1.Progress)) Outcome {
	callCtx, cancel := context.WithTimeout(ctx, c.Tool.Timeout+graceTime)
	defer cancel()
	if !c.NotAfter.IsZero() {
		callCtx = toolkit.WithNotAfter(callCtx, c.NotAfter)
	}
	req := &toolv1.CallToolRequest{Name: c.Tool.RemoteName, ArgumentsJson: string(c.Canonical), EffectKey: c.EffectKey}
	got, err := toolkit.Invoke(callCtx, c.Tool.Provider.Client, req, toolkit.InvokeOptions{MaxBytes: maxResultBytes, OnProgress: progress})
	if err == nil {
		return Outcome{Content: got.ContentJSON, IsError: got.IsError, Origins: got.Origins, CostUSD: got.CostUSD}
	}
	if ctx.Err() != nil {
		stop(ctx, c)
		return failure("CANCELLED", "The call was cancelled before it had a result.", false).cancelled()
	}
	return explain(c, callCtx, err)
}

// explain turns a failure of transport or policy into an outcome.
func explain(c Call, callCtx context.Context, err error) Outcome {
	name, who := c.Tool.Name, c.Tool.Provider.Name
	switch {
	case errors.Is(err, toolkit.ErrTooLarge):
		stop(callCtx, c)
		return failure("RESULT_TOO_LARGE", fmt.Sprintf("%s answered more than %d MiB, which is not taken. Ask for less.", name, maxResultBytes>>20), false)
	case errors.Is(err, toolkit.ErrNoResult), errors.Is(err, toolkit.ErrBadContent):
		return c.unclear("BAD_RESULT", fmt.Sprintf("The provider %s of %s did not answer as it must: %v.", who, name, plain(err)))
	}
	s := status.Convert(err)
	reason := rpcerr.Reason(err)
	switch s.Code() {
	case codes.DeadlineExceeded:
		stop(callCtx, c)
		return c.unclear("TIMEOUT", fmt.Sprintf("%s gave no result within %s.", name, c.Tool.Timeout))
	case codes.Unavailable:
		return c.unclear("PROVIDER_UNAVAILABLE", fmt.Sprintf("The provider %s of %s cannot be reached or broke off.", who, name))
	case codes.Internal, codes.Unknown, codes.DataLoss:
		return c.unclear("PROVIDER_FAILED", fmt.Sprintf("The provider %s of %s failed.", who, name))
	case codes.ResourceExhausted:
		out := failure(or(reason, "RATE_LIMITED"), s.Message(), true)
		if d, ok := rpcerr.RetryDelay(err); ok {
			out = failure(or(reason, "RATE_LIMITED"), fmt.Sprintf("%s Try again in %s.", s.Message(), d.Round(time.Second)), true)
		}
		return out
	default: // a refusal: nothing was done
		return failure(or(reason, s.Code().String()), s.Message(), false)
	}
}

// unclear is the outcome of a call that broke off: a tool that can be called
// again says so, the effect of any other is unknown.
func (c Call) unclear(reason, message string) Outcome {
	if c.Tool.Effect == "pure" || c.Tool.Effect == "keyed" {
		return failure(reason, message, true)
	}
	return Unknown(message)
}

// Unknown is the outcome of a call of which nobody can tell whether it had its
// effect. It is never made again blindly.
func Unknown(message string) Outcome {
	out := failure("OUTCOME_UNKNOWN", message+" Whether it had its effect is not known. Do not repeat it before this is found out; tell the user.", false)
	out.Unknown = true
	return out
}

func failure(reason, message string, retryable bool) Outcome {
	return Outcome{Content: result.Failure(reason, message, retryable), IsError: true, Reason: reason}
}

func (o Outcome) cancelled() Outcome {
	o.Cancelled = true
	return o
}

// stop tells the provider that nobody waits for the call any more. A call that
// ends with its stream is ended already.
func stop(ctx context.Context, c Call) {
	if c.Tool.Effect != "keyed" && c.Tool.Effect != "queryable" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	_, _ = c.Tool.Provider.Client.CancelCall(ctx, &toolv1.CancelCallRequest{EffectKey: c.EffectKey, Name: c.Tool.RemoteName})
}

// Ask finds out what became of a queryable call that somebody else began.
// ok is false when its provider does not know, so that the call may be made.
func Ask(ctx context.Context, c Call) (out Outcome, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	got, err := c.Tool.Provider.Client.GetCall(ctx, &toolv1.GetCallRequest{EffectKey: c.EffectKey, Name: c.Tool.RemoteName})
	switch {
	case err != nil:
		return Unknown("The provider could not be asked what became of the call."), true
	case got.State == "unknown":
		return Outcome{}, false
	case got.State == "running":
		return Outcome{}, false // calling again attaches to it
	case got.State == "finished" && got.Result != nil:
		return Outcome{Content: got.Result.ContentJson, IsError: got.Result.IsError, Origins: got.Result.Origins, CostUSD: got.Result.CostUsd}, true
	default:
		return Unknown("The provider lost the call."), true
	}
}

func plain(err error) string {
	switch {
	case errors.Is(err, toolkit.ErrNoResult):
		return "its stream ended without a result"
	default:
		return "its result is not JSON"
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
