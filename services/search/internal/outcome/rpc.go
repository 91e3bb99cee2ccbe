package outcome

import (
	"cmp"
	"math"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// How long callers are told to wait when an engine does not say. An allowance
// that was bought comes back with a new period or by somebody's hand.
const (
	defaultRetry      = time.Minute
	defaultQuotaRetry = time.Hour
)

// usualWaits are how long engines that do not say so take to answer again. What
// only a person can correct takes for ever.
var usualWaits = map[Code]time.Duration{
	RateLimited: defaultRetry, QuotaExhausted: defaultQuotaRetry,
	AuthFailed: math.MaxInt64, Config: math.MaxInt64, BadRequest: math.MaxInt64, UnsupportedOption: math.MaxInt64,
}

// Wait is how long it takes until the engine may answer; 0 when it may at once,
// or when nobody knows.
func (o Outcome) Wait() time.Duration { return cmp.Or(o.RetryAfter, usualWaits[o.Code]) }

// rpcCodes are the statuses of failures. A refused key is the operator's, so
// it is not UNAUTHENTICATED: the caller's own token is fine.
var rpcCodes = map[Code]codes.Code{
	DecoySuspected: codes.Unavailable, Challenge: codes.Unavailable, JSShell: codes.Unavailable,
	LayoutUnrecognised: codes.Unavailable, Upstream5xx: codes.Unavailable, Transport: codes.Unavailable,
	RateLimited: codes.ResourceExhausted, QuotaExhausted: codes.ResourceExhausted,
	AuthFailed: codes.FailedPrecondition, Config: codes.FailedPrecondition,
	BadRequest: codes.InvalidArgument, UnsupportedOption: codes.InvalidArgument,
	Timeout: codes.DeadlineExceeded, Cancelled: codes.Canceled,
}

// Err gives the error for a failed search: its reason is the code. It is nil
// for answers.
func (o Outcome) Err() *rpcerr.Error {
	if o.Code.Answered() {
		return nil
	}
	code, ok := rpcCodes[o.Code]
	if !ok {
		code = codes.Internal
	}
	err := rpcerr.New(code, string(o.Code), "%s", o.Code.Words())
	if wait := o.Wait(); wait > 0 && wait < math.MaxInt64 {
		return err.WithRetry(wait)
	}
	return err
}
