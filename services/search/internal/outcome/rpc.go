package outcome

import (
	"cmp"
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
	switch o.Code {
	case RateLimited:
		return err.WithRetry(cmp.Or(o.RetryAfter, defaultRetry))
	case QuotaExhausted:
		return err.WithRetry(cmp.Or(o.RetryAfter, defaultQuotaRetry))
	}
	if o.RetryAfter > 0 {
		return err.WithRetry(o.RetryAfter)
	}
	return err
}
