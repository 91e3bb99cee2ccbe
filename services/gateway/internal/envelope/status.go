package envelope

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// transportRetry is when a service may be there again that cannot be reached.
const transportRetry = time.Second

// statusClientClosed is what nginx calls "client closed request"; nobody is
// there to read it, but logs and metrics are.
const statusClientClosed = 499

// HTTPStatus maps a gRPC code. It differs from the runtime's mapping in
// FAILED_PRECONDITION, which is 409: the request is well formed and the state of
// things is against it, so 400 would send the caller to look for a mistake of
// theirs.
func HTTPStatus(code codes.Code) int {
	switch code {
	case codes.OK:
		return http.StatusOK
	case codes.Canceled:
		return statusClientClosed
	case codes.InvalidArgument, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists, codes.Aborted, codes.FailedPrecondition:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}

// FromError turns what a call of a service answered into a problem: the reason
// and facts from ErrorInfo, the fields from BadRequest, the time from RetryInfo.
func FromError(err error) Problem {
	s := rpcerr.From(err)
	p := Problem{Status: HTTPStatus(s.Code()), Message: s.Message()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			p.Reason = d.GetReason()
			p.Meta = maps.Clone(d.GetMetadata())
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				p = p.WithField(v.GetField(), v.GetDescription())
			}
		case *errdetails.RetryInfo:
			p.RetryAfter, p.HasRetry = d.GetRetryDelay().AsDuration(), true
		}
	}
	if untrusted(s.Code(), p.Reason) {
		// The other process refuses this one, not the caller, whose token is good.
		p.Status = http.StatusServiceUnavailable
		p.Message = "the parts of this server do not accept each other: its log says what the operator must put right"
	}
	if p.Reason == "" {
		if p.Reason = reasonOf(s); s.Code() == codes.Unavailable && !p.HasRetry {
			p.RetryAfter, p.HasRetry = transportRetry, true
		}
		if words, ok := transportWords[s.Code()]; ok {
			p.Message = words
		}
	}
	return p
}

// untrusted says that a failure is about the identity which the gateway signed,
// and not about its caller.
func untrusted(code codes.Code, reason string) bool {
	return code == codes.Unauthenticated && slices.Contains([]string{
		auth.ReasonIdentityInvalid, auth.ReasonIdentityExpired, auth.ReasonIdentityAudience,
	}, reason)
}

// reasonOf names a status that carries no ErrorInfo by its code.
func reasonOf(s *status.Status) string {
	if name, ok := codeNames[s.Code()]; ok {
		return name
	}
	return rpcerr.ReasonInternal
}

var codeNames = map[codes.Code]string{
	codes.Canceled:           rpcerr.ReasonCancelled,
	codes.InvalidArgument:    "INVALID_ARGUMENT",
	codes.DeadlineExceeded:   rpcerr.ReasonDeadlineExceeded,
	codes.NotFound:           "NOT_FOUND",
	codes.AlreadyExists:      "ALREADY_EXISTS",
	codes.PermissionDenied:   "PERMISSION_DENIED",
	codes.ResourceExhausted:  "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION",
	codes.Aborted:            "ABORTED",
	codes.OutOfRange:         "OUT_OF_RANGE",
	codes.Unimplemented:      "UNIMPLEMENTED",
	codes.Unavailable:        "UNAVAILABLE",
	codes.Unauthenticated:    "UNAUTHENTICATED",
}

// transportWords replace the text of a status that no service shaped: it is
// grpc-go's own and may hold inner addresses.
var transportWords = map[codes.Code]string{
	codes.Canceled:         "the request was cancelled",
	codes.DeadlineExceeded: "the deadline passed before the work was done",
	codes.Unavailable:      "the service behind this route cannot be reached just now: try again",
	codes.Unknown:          "something went wrong on our side; the logs have the cause under this trace id",
	codes.Internal:         "something went wrong on our side; the logs have the cause under this trace id",
	codes.DataLoss:         "something went wrong on our side; the logs have the cause under this trace id",
}
