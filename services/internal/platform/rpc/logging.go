package rpc

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// reasonShuttingDown is how every service refuses work while it is being stopped.
const reasonShuttingDown = "SHUTTING_DOWN"

// logging writes one line a call when it ends: debug when it went well, info
// when the caller was wrong, warn when we were short of something, error when
// we failed. The error is written whole, cause included; that is why this link
// sits inside of the conversion.
func logging(log *slog.Logger) step {
	return func(ctx context.Context, m method) (context.Context, func(error) error, error) {
		start := time.Now()
		return ctx, func(err error) error {
			code := rpcerr.From(err).Code()
			level := levelOf(code)
			if rpcerr.Reason(err) == reasonShuttingDown {
				level = slog.LevelDebug // a stop that goes on is no lack of anything
			}
			if !log.Enabled(ctx, level) {
				return err
			}
			attrs := []slog.Attr{
				slog.String("method", m.full),
				slog.String("code", code.String()),
				slog.Float64("duration_ms", float64(time.Since(start).Microseconds())/1000),
				slog.String("request_id", RequestID(ctx)),
			}
			if p := callOf(ctx).principal; p != "" {
				attrs = append(attrs, slog.String("principal", p))
			}
			if c := callOf(ctx).caller; c != "" {
				attrs = append(attrs, slog.String("caller", c))
			}
			if err != nil {
				attrs = append(attrs, slog.String("reason", rpcerr.Reason(err)), slog.String("error", err.Error()))
			}
			log.LogAttrs(ctx, level, "rpc", attrs...)
			return err
		}, nil
	}
}

func levelOf(code codes.Code) slog.Level {
	switch code {
	case codes.OK:
		return slog.LevelDebug
	case codes.Internal, codes.Unknown, codes.DataLoss:
		return slog.LevelError
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}
