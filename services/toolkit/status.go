package toolkit

import (
	"errors"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reasons of the statuses that a provider answers by itself.
const (
	ReasonToolNotFound      = "TOOL_NOT_FOUND"      // NOT_FOUND
	ReasonEffectKeyRequired = "EFFECT_KEY_REQUIRED" // INVALID_ARGUMENT
	ReasonBadNotAfter       = "BAD_NOT_AFTER"       // INVALID_ARGUMENT
	ReasonKeyReused         = "KEY_REUSED"          // ABORTED: other arguments under one key
	ReasonLeaseExpired      = "LEASE_EXPIRED"       // ABORTED: the time to start the call has passed
	ReasonCallLost          = "CALL_LOST"           // ABORTED: it was started and nobody knows how it ended
	ReasonCallRunsElsewhere = "CALL_RUNS_ELSEWHERE" // UNAVAILABLE: another process runs it; ask GetCall
	ReasonShuttingDown      = "SHUTTING_DOWN"       // UNAVAILABLE
	ReasonKeyStore          = "KEY_STORE"           // UNAVAILABLE: effects cannot be recorded now
	ReasonTooManyCalls      = "TOO_MANY_CALLS"      // RESOURCE_EXHAUSTED
	ReasonInternal          = "INTERNAL"            // INTERNAL: the logs of the provider have the cause
	errorDomain             = "nanoclaw"            // ErrorInfo.domain of all of these
	maxStatusBytes          = 1024                  // a status travels in HTTP/2 trailers
	internalMessage         = "the tool failed on the provider's side; its logs have the cause"
)

// StatusError makes a gRPC status error with an ErrorInfo: the form in which a
// tool refuses a call for reasons of policy or transport. What the model could
// put right is a result: [Fail].
func StatusError(code codes.Code, reason, format string, args ...any) error {
	return newStatus(code, reason, fmt.Sprintf(format, args...)).Err()
}

func newStatus(code codes.Code, reason, message string) *status.Status {
	s := status.New(code, clipTo(message, maxStatusBytes))
	detailed, err := s.WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: errorDomain})
	if err != nil { // only for code OK
		return s
	}
	return detailed
}

// statusOf finds the status that an error carries, also when it is wrapped.
// status.FromError is not used: it would add the wrapping text.
func statusOf(err error) (*status.Status, bool) {
	var carrier interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &carrier) {
		return nil, false
	}
	s := carrier.GRPCStatus()
	return s, s.Code() != codes.OK
}
