package httpfetch

import (
	"context"
	"net/url"
	"time"
)

// clock ends a fetch after its time. One that can pause is a timer of its own:
// waiting for a turn at a host is not the server's time.
type clock struct {
	cancel context.CancelFunc
	timer  *time.Timer // nil: the context has a deadline
	left   time.Duration
	since  time.Time
}

// startClock gives the context that a fetch has to end with.
func startClock(ctx context.Context, limit time.Duration, pausable bool) (context.Context, *clock) {
	if !pausable {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, errTotalTimeout)
		return ctx, &clock{cancel: cancel}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &clock{
		cancel: func() { cancel(nil) }, left: limit, since: time.Now(),
		timer: time.AfterFunc(limit, func() { cancel(errTotalTimeout) }),
	}
}

// paused is hop with the clock standing still meanwhile.
func (c *clock) paused(hop func(context.Context, *url.URL) error) func(context.Context, *url.URL) error {
	if hop == nil {
		return nil
	}
	return func(ctx context.Context, next *url.URL) error {
		c.timer.Stop()
		c.left -= time.Since(c.since)
		defer func() {
			c.since = time.Now()
			c.timer.Reset(max(c.left, 0))
		}()
		return hop(ctx, next)
	}
}

func (c *clock) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.cancel()
}
