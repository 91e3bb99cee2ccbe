package rpc

import (
	"context"
	"crypto/rand"
	"regexp"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Headers that every answer carries.
const (
	// HeaderRequestID is also read from requests: 1 to 64 characters of
	// A-Z a-z 0-9 . _ -; anything else is replaced.
	HeaderRequestID = "x-request-id"
	HeaderTraceID   = "x-trace-id"
)

var requestIDShape = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// callKey finds the *call of a context.
type callKey struct{}

// call is what the links tell each other about one call.
type call struct {
	requestID string
	principal string // auth.Principal.ID, once auth has run
}

func callOf(ctx context.Context) *call {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return &call{}
	}
	return c
}

// RequestID is the id of the call being served, empty outside of one.
func RequestID(ctx context.Context) string { return callOf(ctx).requestID }

// WithRequestID gives calls made under ctx a request id; for edges that do not
// come through a [Server]. An id that does not look like one is replaced.
func WithRequestID(ctx context.Context, id string) context.Context {
	if !requestIDShape.MatchString(id) {
		id = rand.Text()
	}
	return context.WithValue(ctx, callKey{}, &call{requestID: id})
}

func requestID(ctx context.Context, _ method) (context.Context, func(error) error, error) {
	var given string
	if values := metadata.ValueFromIncomingContext(ctx, HeaderRequestID); len(values) == 1 {
		given = values[0]
	}
	ctx = WithRequestID(ctx, given)
	header := metadata.Pairs(HeaderRequestID, RequestID(ctx))
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		header.Set(HeaderTraceID, span.TraceID().String())
	}
	// The error means that there is no one to tell: the stream is gone.
	_ = grpc.SetHeader(ctx, header)
	return ctx, nil, nil
}
