package engine

import (
	"errors"
	"strings"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// runError is a failure of a run that its reader may see.
type runError struct {
	code      int // HTTP status
	reason    string
	message   string
	retryable bool
}

func (e *runError) Error() string { return e.message }

// failure is what readers are told about an error that ended a run.
func (t *turn) failure(err error) *pb.RunError {
	if e, ok := errors.AsType[*runError](err); ok {
		return &pb.RunError{Code: int32(e.code), Reason: e.reason, Message: e.message, Retryable: e.retryable}
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		code, reason := providerReason(e.Kind)
		message := e.Message
		if e.Detail != "" && !strings.Contains(message, e.Detail) {
			message = strings.TrimRight(message, ".") + ". It said: " + e.Detail
		}
		return &pb.RunError{Code: code, Reason: reason, Message: message, Retryable: e.Retryable()}
	}
	return &pb.RunError{Code: 500, Reason: "INTERNAL", Retryable: true,
		Message: "The run failed inside this server. Its trace id leads to the log."}
}

// providerReason is the HTTP status and reason for a failed model call. The
// status is one that a gRPC code stands for, so that a caller who waits for the
// answer is told the same. A key that the provider refuses is the operator's
// matter, not the caller's: never 401.
func providerReason(k provider.Kind) (code int32, reason string) {
	switch k {
	case provider.KindAuth:
		return 503, "MODEL_AUTH_FAILED"
	case provider.KindNotFound:
		return 503, "MODEL_NOT_FOUND"
	case provider.KindBadRequest:
		return 503, "MODEL_REFUSED_REQUEST"
	case provider.KindContextLength:
		return 400, "CONTEXT_TOO_LONG"
	case provider.KindRateLimited:
		return 429, "MODEL_RATE_LIMITED"
	case provider.KindQuota:
		return 429, "MODEL_QUOTA_EXHAUSTED"
	case provider.KindOverloaded:
		return 503, "MODEL_OVERLOADED"
	case provider.KindServer:
		return 503, "MODEL_FAILED"
	case provider.KindTimeout:
		return 504, "MODEL_TIMEOUT"
	case provider.KindTransport:
		return 503, "MODEL_UNREACHABLE"
	case provider.KindTruncated:
		return 503, "MODEL_STREAM_TRUNCATED"
	case provider.KindMalformed:
		return 503, "MODEL_ANSWER_UNREADABLE"
	case provider.KindContentFilter:
		return 400, "CONTENT_FILTERED"
	}
	return 503, "MODEL_FAILED"
}
