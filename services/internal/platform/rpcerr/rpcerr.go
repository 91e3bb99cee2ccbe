package rpcerr

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Domain is the ErrorInfo domain of every error made here.
const Domain = "nanoclaw"

// An error travels in HTTP/2 trailers, where many peers accept 8 KiB in all
// (and the details are base64). These caps keep a message that echoes a
// caller's value from costing the caller the whole error.
const (
	maxMessageBytes     = 1024
	maxDescriptionBytes = 256
	maxMetaBytes        = 256
	maxViolations       = 8
)

// Error is a failure its caller may see. The zero value is not useful: use
// [New]. An *Error is immutable: every With method answers a changed copy, so a
// package-level *Error can serve as a base.
type Error struct {
	code       codes.Code
	reason     string
	message    string
	violations []violation
	retry      time.Duration
	hasRetry   bool
	meta       map[string]string
	cause      error
}

type violation struct{ field, description string }

// New makes an error with a gRPC code, a stable reason in UPPER_SNAKE that
// clients may switch on, and a message for people: what failed and what to do.
// The message is shown to the caller, so it must hold no secret and no inner
// error text. codes.OK is not an error and becomes codes.Internal.
func New(code codes.Code, reason, format string, args ...any) *Error {
	if code == codes.OK {
		code = codes.Internal
	}
	return &Error{code: code, reason: reason, message: clip(fmt.Sprintf(format, args...), maxMessageBytes)}
}

// InvalidArgument is INVALID_ARGUMENT for one field, named as the caller wrote
// it ("filter.status", "urls[3]"). More fields: [Error.WithField].
func InvalidArgument(field, description string) *Error {
	return New(codes.InvalidArgument, "INVALID_ARGUMENT", "%s: %s", field, description).
		WithField(field, description)
}

// NotFound is NOT_FOUND for a thing ("conversation", "file") by its id. It is
// also the answer for a thing that belongs to somebody else.
func NotFound(what, id string) *Error {
	return New(codes.NotFound, "NOT_FOUND", "%s %q does not exist", what, id)
}

// WithField adds a field violation (google.rpc.BadRequest). Only the first 8
// are sent.
func (e *Error) WithField(field, description string) *Error {
	c := e.clone()
	c.violations = append(c.violations, violation{clip(field, maxDescriptionBytes), clip(description, maxDescriptionBytes)})
	return c
}

// WithRetry says that the same call may succeed after d (google.rpc.RetryInfo,
// over REST the Retry-After header). A negative d counts as zero: at once.
func (e *Error) WithRetry(d time.Duration) *Error {
	c := e.clone()
	c.retry, c.hasRetry = max(d, 0), true
	return c
}

// WithMeta adds a machine-readable fact to the ErrorInfo metadata. The caller
// sees it.
func (e *Error) WithMeta(key, value string) *Error {
	c := e.clone()
	if c.meta == nil {
		c.meta = make(map[string]string, 1)
	}
	c.meta[clip(key, maxMetaBytes)] = clip(value, maxMetaBytes)
	return c
}

// WithCause keeps the inner error for errors.Is, errors.As and logs. It is
// never shown to the caller.
func (e *Error) WithCause(err error) *Error {
	c := e.clone()
	c.cause = err
	return c
}

// Code is the gRPC code.
func (e *Error) Code() codes.Code { return e.code }

// Reason is the stable UPPER_SNAKE reason.
func (e *Error) Reason() string { return e.reason }

// Message is the text the caller sees.
func (e *Error) Message() string { return e.message }

// Error gives the message and the cause: for logs, not for callers.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.message
	}
	return e.message + ": " + e.cause.Error()
}

// Unwrap answers the cause, if any.
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is(err, base) true for any error grown from base: the code
// and the reason decide, the words do not.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.code == e.code && t.reason == e.reason
}

// GRPCStatus is what grpc-go sends: code, message, ErrorInfo and the details
// that were added. The cause is not part of it.
func (e *Error) GRPCStatus() *status.Status {
	details := []protoadapt.MessageV1{protoadapt.MessageV1Of(&errdetails.ErrorInfo{
		Reason: e.reason, Domain: Domain, Metadata: e.meta,
	})}
	if len(e.violations) > 0 {
		bad := &errdetails.BadRequest{}
		for _, v := range e.violations[:min(len(e.violations), maxViolations)] {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
				Field: v.field, Description: v.description,
			})
		}
		details = append(details, protoadapt.MessageV1Of(bad))
	}
	if e.hasRetry {
		details = append(details, protoadapt.MessageV1Of(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.retry)}))
	}
	plain := status.New(e.code, e.message)
	full, err := plain.WithDetails(details...)
	if err != nil { // only an OK status or an unmarshalable detail, neither possible here
		return plain
	}
	return full
}

func (e *Error) clone() *Error {
	c := *e
	c.violations = slices.Clone(e.violations)
	c.meta = maps.Clone(e.meta)
	return &c
}

// clip makes s valid UTF-8 (a protobuf string must be) of at most limit bytes,
// marking a cut.
func clip(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// As finds the *Error in err's chain, if there is one.
func As(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}
