package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// explain turns a failure of transport or policy into an outcome.
func (c Call) explain(ctx context.Context, err error) Outcome {
	name, who := c.Tool.Name, c.Tool.Provider.Name
	switch {
	case errors.Is(err, toolkit.ErrTooLarge):
		return c.brokeOff(ctx, "RESULT_TOO_LARGE", fmt.Sprintf("%s answered more than %d MiB, which is not taken. Ask for less.", name, maxResultBytes>>20), false)
	case errors.Is(err, toolkit.ErrNoResult):
		return c.brokeOff(ctx, "BAD_RESULT", fmt.Sprintf("The provider %s ended the call of %s without a result.", who, name), true)
	case errors.Is(err, toolkit.ErrBadContent):
		return c.brokeOff(ctx, "BAD_RESULT", fmt.Sprintf("The provider %s of %s answered what is not JSON.", who, name), true)
	}
	s, reason := status.Convert(err), reasonOf(err)
	switch s.Code() {
	case codes.ResourceExhausted:
		message := refusal(name, s)
		if d, ok := rpcerr.RetryDelay(err); ok {
			message += fmt.Sprintf(" Try again in %s.", d.Round(time.Second))
		}
		return failure(reason, message, true)
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated,
		codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented: // nothing was done
		return failure(reason, refusal(name, s), false)
	case codes.Aborted:
		if reason != toolkit.ReasonCallLost {
			return failure(reason, refusal(name, s), false)
		}
		return Unknown("The provider " + who + " lost the call.")
	case codes.DeadlineExceeded:
		return c.brokeOff(ctx, "TIMEOUT", fmt.Sprintf("%s gave no result within %s.", name, c.Tool.Timeout), true)
	case codes.Unavailable:
		return c.brokeOff(ctx, "PROVIDER_UNAVAILABLE", fmt.Sprintf("The provider %s of %s cannot be reached or broke off.", who, name), true)
	default:
		return c.brokeOff(ctx, "PROVIDER_FAILED", fmt.Sprintf("The provider %s of %s failed.", who, name), true)
	}
}

func refusal(tool string, s *status.Status) string {
	return fmt.Sprintf("%s was refused: %s", tool, cmp.Or(s.Message(), "its provider does not say why."))
}

// reasonShape is what a reason may look like: others name them.
var reasonShape = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// reasonOf is the reason that a status gives, else the name of its code.
func reasonOf(err error) string {
	if reason := rpcerr.Reason(err); reasonShape.MatchString(reason) {
		return reason
	}
	return code.Code(status.Code(err)).String()
}

// brokeOff is the outcome of a call that ended without a result or a refusal.
// One without an effect may be made again; of a keyed or queryable one its
// provider is asked; of any other nobody can tell.
func (c Call) brokeOff(ctx context.Context, reason, message string, retryable bool) Outcome {
	switch c.Tool.Effect {
	case "pure":
		return failure(reason, message, retryable)
	case "keyed", "queryable":
		return c.settle(ctx, reason, message)
	}
	return Unknown(message)
}

// settle ends a call that outlives its stream and asks how it ended.
func (c Call) settle(ctx context.Context, reason, message string) Outcome {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	c.stop(ctx)
	for {
		out, state := c.state(ctx)
		switch state {
		case string(toolkit.StateFinished):
			return out
		case string(toolkit.StateUnknown):
			return failure(reason, message+" It was not begun.", true)
		case string(toolkit.StateRunning):
		default:
			return Unknown(message)
		}
		select {
		case <-time.After(askEvery):
		case <-ctx.Done():
			return Unknown(message)
		}
	}
}

// stop tells the provider that nobody waits for the call any more. A call that
// ends with its stream is ended already.
func (c Call) stop(ctx context.Context) {
	if c.Tool.Effect == "keyed" || c.Tool.Effect == "queryable" {
		// Nothing can be done about a failure: the call's own deadline ends it.
		_, _ = c.Tool.Provider.Client.CancelCall(ctx, &toolv1.CancelCallRequest{EffectKey: c.EffectKey, Name: c.Tool.RemoteName})
	}
}

// stateKept is a finished call whose result does not fit into one message:
// calling again with the same key streams it.
const stateKept = "kept"

// state asks the provider about the call. The state is empty when it cannot be
// had; the outcome is that of a finished call.
func (c Call) state(ctx context.Context) (out Outcome, state string) {
	got, err := c.Tool.Provider.Client.GetCall(ctx, &toolv1.GetCallRequest{EffectKey: c.EffectKey, Name: c.Tool.RemoteName})
	switch {
	case err != nil:
		return Outcome{}, ""
	case got.State != string(toolkit.StateFinished):
		return Outcome{}, got.State
	case got.Result == nil:
		return Outcome{}, stateKept
	case !json.Valid([]byte(got.Result.ContentJson)):
		return Unknown("The provider " + c.Tool.Provider.Name + " kept a result that is not JSON."), got.State
	}
	return Outcome{
		Content: got.Result.ContentJson, IsError: got.Result.IsError, Origins: got.Result.Origins, CostUSD: got.Result.CostUsd,
	}, got.State
}

// Ask finds out what became of a queryable call that somebody else began.
// ok is false when the call may be made: its provider has not seen it, or hands
// out what it has of it to whoever calls with the same key.
func Ask(ctx context.Context, c Call) (out Outcome, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	out, state := c.state(ctx)
	switch state {
	case string(toolkit.StateFinished):
		return out, true
	case string(toolkit.StateUnknown), string(toolkit.StateRunning), stateKept:
		return Outcome{}, false
	case "":
		return Unknown("The provider could not be asked what became of the call."), true
	default:
		return Unknown("The provider lost the call."), true
	}
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
