package rpc

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// instruments are the metrics of the chain. How long calls take is measured by
// otelgrpc (rpc.server.call.duration) and not again here.
type instruments struct {
	active   metric.Int64UpDownCounter
	failures metric.Int64Counter
	panics   metric.Int64Counter
}

func newInstruments(provider metric.MeterProvider) (instruments, error) {
	meter := provider.Meter("nanoclaw/rpc")
	active, err1 := meter.Int64UpDownCounter("nanoclaw.rpc.server.active",
		metric.WithUnit("{call}"), metric.WithDescription("Calls in flight, streams included."))
	failures, err2 := meter.Int64Counter("nanoclaw.rpc.server.failures",
		metric.WithUnit("{call}"), metric.WithDescription("Calls that ended with an error, by code and reason."))
	panics, err3 := meter.Int64Counter("nanoclaw.rpc.server.panics",
		metric.WithUnit("{panic}"), metric.WithDescription("Handlers that panicked."))
	return instruments{active, failures, panics}, errors.Join(err1, err2, err3)
}

func (in instruments) measure(ctx context.Context, m method) (context.Context, func(error) error, error) {
	name := attribute.String("rpc.method", m.full[1:])
	in.active.Add(ctx, 1, metric.WithAttributes(name))
	return ctx, func(err error) error {
		in.active.Add(ctx, -1, metric.WithAttributes(name))
		if err != nil {
			// Reasons of foreign services could be any text; ours are few.
			reason := ""
			if ours, ok := rpcerr.As(err); ok {
				reason = ours.Reason()
			}
			in.failures.Add(ctx, 1, metric.WithAttributes(name,
				attribute.String("code", rpcerr.From(err).Code().String()),
				attribute.String("reason", reason)))
		}
		return err
	}, nil
}
