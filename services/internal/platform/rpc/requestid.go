package rpc

import (
	"context"
	"crypto/rand"
	"regexp"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Metadata that every answer carries: as headers, or in the trailers of a unary
// call that failed.
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
	caller    string // the service whose signed identity came, if one did
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

func requestID(ctx context.Context, m method) (context.Context, func(error) error, error) {
	var given string
	if values := metadata.ValueFromIncomingContext(ctx, HeaderRequestID); len(values) == 1 {
		given = values[0]
	}
	ctx = WithRequestID(ctx, given)
	ids := metadata.Pairs(HeaderRequestID, RequestID(ctx))
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		ids.Set(HeaderTraceID, span.TraceID().String())
	}
	// The errors of SetHeader and SetTrailer mean that there is no one to tell:
	// the stream is gone.
	if m.stream {
		_ = grpc.SetHeader(ctx, ids)
		return ctx, nil, nil
	}
	return ctx, func(err error) error {
		// A failure must go out as trailers alone: headers commit a call, and a
		// client does not retry a committed one (gRFC A6).
		if err != nil {
			_ = grpc.SetTrailer(ctx, ids)
		} else {
			_ = grpc.SetHeader(ctx, ids)
		}
		return err
	}, nil
}
