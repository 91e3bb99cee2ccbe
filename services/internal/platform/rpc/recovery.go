package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// recovery keeps a panic of one call from ending the process. It is the
// outermost link, so it makes the status itself.
func recovery(log *slog.Logger, panics metric.Int64Counter) Interceptor {
	caught := func(ctx context.Context, fullMethod string, p any) error {
		panics.Add(ctx, 1, metric.WithAttributes(attribute.String("rpc.method", fullMethod[1:])))
		log.LogAttrs(ctx, slog.LevelError, "a handler panicked",
			slog.String("method", fullMethod),
			slog.String("panic", fmt.Sprint(p)),
			slog.String("stack", string(debug.Stack())))
		return rpcerr.From(errPanicked).Err()
	}
	return Interceptor{
		Name: "recovery",
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
			defer func() {
				if p := recover(); p != nil {
					resp, err = nil, caught(ctx, info.FullMethod, p)
				}
			}()
			return handler(ctx, req)
		},
		Stream: func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = caught(stream.Context(), info.FullMethod, p)
				}
			}()
			return handler(srv, stream)
		},
	}
}

// explaining gives errors that nobody shaped the words that explain has for
// them. The error stays the cause, for the log.
func explaining(explain func(error) *rpcerr.Error) step {
	return func(ctx context.Context, _ method) (context.Context, func(error) error, error) {
		if explain == nil {
			return ctx, nil, nil
		}
		return ctx, func(err error) error {
			if rpcerr.Reason(err) != rpcerr.ReasonInternal {
				return err
			}
			if told := explain(err); told != nil {
				return told.WithCause(err)
			}
			return err
		}, nil
	}
}

// convertErrors makes the status that leaves the server. All links behind it
// see the errors as they were made.
func convertErrors(ctx context.Context, _ method) (context.Context, func(error) error, error) {
	return ctx, func(err error) error { return rpcerr.From(err).Err() }, nil
}
