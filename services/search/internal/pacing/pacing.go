// Package pacing keeps a distance between the requests to one engine. Engines
// that are scraped block whole addresses for an hour when asked too often.
package pacing

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// Gate lets one request through every so often. It is safe for concurrent use.
type Gate struct{ limiter *rate.Limiter }

// New makes a gate with a gap between requests; 0 lets everything through.
func New(gap time.Duration) *Gate {
	if gap <= 0 {
		return &Gate{rate.NewLimiter(rate.Inf, 1)}
	}
	return &Gate{rate.NewLimiter(rate.Every(gap), 1)}
}

// BusyError says that a turn would have come too late to be waited for.
type BusyError struct {
	// Wait is how long the turn is away.
	Wait time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("the engine's next free turn is in %s", e.Wait.Round(time.Millisecond))
}

// Wait returns when it is the caller's turn. A turn later than the context's
// deadline or further than longest away is not queued for: that is a
// *BusyError at once. When the context ends meanwhile the turn goes to others,
// as far as they have not queued behind it, and its error is returned.
func (g *Gate) Wait(ctx context.Context, longest time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := time.Now()
	turn := g.limiter.ReserveN(now, 1)
	wait := turn.DelayFrom(now)
	deadline, limited := ctx.Deadline()
	if wait > longest || limited && now.Add(wait).After(deadline) {
		turn.CancelAt(now)
		return &BusyError{wait}
	}
	if wait == 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return ctx.Err()
	}
}
