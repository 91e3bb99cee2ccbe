package rpcerr

import (
	"context"
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reasons of the errors that From makes itself.
const (
	ReasonInternal         = "INTERNAL"
	ReasonCancelled        = "CANCELLED"
	ReasonDeadlineExceeded = "DEADLINE_EXCEEDED"
)

// From converts any error to the status its caller gets. It is called once, at
// the edge:
//
//   - nil is OK;
//   - the outermost *Error or gRPC status error in the chain is taken as it is,
//     without the text that was wrapped around it;
//   - context.DeadlineExceeded and context.Canceled become DEADLINE_EXCEEDED and
//     CANCELLED;
//   - all else is INTERNAL with reason INTERNAL and a message that gives nothing
//     away; log the error itself beside it.
func From(err error) *status.Status {
	if err == nil {
		return status.New(codes.OK, "")
	}
	// status.FromError would put the wrapping text into the message.
	var carrier interface{ GRPCStatus() *status.Status }
	if errors.As(err, &carrier) {
		if s := carrier.GRPCStatus(); s.Code() != codes.OK {
			return s
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return New(codes.DeadlineExceeded, ReasonDeadlineExceeded,
			"the deadline passed before the work was done").GRPCStatus()
	case errors.Is(err, context.Canceled):
		return New(codes.Canceled, ReasonCancelled, "the call was cancelled").GRPCStatus()
	}
	return New(codes.Internal, ReasonInternal,
		"something went wrong on our side; the logs have the cause under this trace id").GRPCStatus()
}

// Reason answers the reason a caller would see for err: that of an *Error, of a
// status received from another service, or the one [From] would give. It is
// empty for nil and for a status without ErrorInfo.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	return StatusReason(From(err))
}

// StatusReason reads the ErrorInfo reason of a status; empty when it has none.
func StatusReason(s *status.Status) string {
	info, _ := detail[*errdetails.ErrorInfo](s)
	return info.GetReason()
}

// RetryDelay reads after which time the call may be repeated, from an *Error or
// a status received from another service.
func RetryDelay(err error) (time.Duration, bool) {
	info, ok := detail[*errdetails.RetryInfo](From(err))
	return info.GetRetryDelay().AsDuration(), ok
}

func detail[T any](s *status.Status) (T, bool) {
	for _, d := range s.Details() {
		if t, ok := d.(T); ok {
			return t, true
		}
	}
	var none T
	return none, false
}
