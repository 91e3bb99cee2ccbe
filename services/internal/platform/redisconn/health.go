package redisconn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// refusalsEvery is how often refusals of single calls are logged.
const refusalsEvery = time.Minute

// health remembers whether Redis answers, and says so when that changes.
type health struct {
	addr      string
	log       *slog.Logger
	available metric.Int64Gauge
	calls     metric.Int64Counter

	mu          sync.Mutex
	away        bool
	since       time.Time // when it went away
	next        time.Time // when it may be tried again
	lastRefusal time.Time // when one was logged last
}

func newHealth(addr string, log *slog.Logger) (*health, error) {
	if log == nil {
		log = slog.Default()
	}
	meter := otel.Meter("nanoclaw/redis")
	available, err1 := meter.Int64Gauge("nanoclaw.redis.available",
		metric.WithDescription("1 while Redis answers, 0 while the process works without it."))
	calls, err2 := meter.Int64Counter("nanoclaw.redis.calls_without",
		metric.WithDescription("Calls that went on without Redis, since it was away or refused them."))
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("metrics of Redis: %w", err)
	}
	return &health{addr: addr, log: log, available: available, calls: calls}, nil
}

// mayTry tells whether Redis is to be asked: always while it answers, and by
// one call every so often while it is away.
func (h *health) mayTry() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if h.away && now.Before(h.next) {
		return false
	}
	h.next = now.Add(retryEvery)
	return true
}

// unknown lets the next call try: this one found nothing out.
func (h *health) unknown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = time.Time{}
}

// without counts a call that Redis was not asked for.
func (h *health) without(ctx context.Context) { h.calls.Add(ctx, 1) }

// answered notes a call that succeeded.
func (h *health) answered(ctx context.Context) {
	h.mu.Lock()
	back, since := h.away, h.since
	h.away = false
	h.mu.Unlock()
	h.available.Record(ctx, 1)
	if back {
		h.log.LogAttrs(ctx, slog.LevelInfo, "Redis answers again", slog.String("addr", h.addr),
			slog.Duration("away", time.Since(since).Round(time.Millisecond)))
	}
}

// failed notes a call that had no answer.
func (h *health) failed(ctx context.Context, err error) {
	h.calls.Add(ctx, 1)
	h.mu.Lock()
	now := time.Now()
	gone := !h.away
	if gone {
		h.away, h.since = true, now
	}
	h.next = now.Add(retryEvery)
	h.mu.Unlock()
	h.available.Record(ctx, 0)
	if gone {
		h.log.LogAttrs(ctx, slog.LevelWarn,
			"Redis does not answer: until it does, nothing is cached in it and rate limits count in this process alone",
			slog.String("addr", h.addr), slog.Any("error", err))
	}
}

// refused notes a call that Redis answered with an error: it has no room, is
// loading, or does not let us. Other calls may well succeed.
func (h *health) refused(ctx context.Context, err error) {
	h.answered(ctx)
	h.calls.Add(ctx, 1)
	h.mu.Lock()
	now := time.Now()
	loud := h.lastRefusal.IsZero() || now.Sub(h.lastRefusal) >= refusalsEvery
	if loud {
		h.lastRefusal = now
	}
	h.mu.Unlock()
	if loud {
		h.log.LogAttrs(ctx, slog.LevelWarn, "Redis refuses a call; it goes on without", slog.String("addr", h.addr), slog.Any("error", err))
	}
}
