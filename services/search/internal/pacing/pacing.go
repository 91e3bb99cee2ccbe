// Package pacing keeps a distance between the requests to one engine. Engines
// that are scraped block whole addresses for an hour when asked too often.
package pacing

import (
	"context"
	"fmt"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
)

// Gate lets one request through every so often. It is safe for concurrent use.
type Gate struct {
	limiter ratelimit.Limiter
	key     string
	limit   ratelimit.Limit
}

// New makes a gate with a gap between requests; 0 lets everything through. All
// gates with one key and limiter are one queue.
func New(limiter ratelimit.Limiter, key string, gap time.Duration) *Gate {
	return &Gate{limiter, key, ratelimit.Limit{N: 1, Per: gap}}
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
	if deadline, limited := ctx.Deadline(); limited {
		longest = min(longest, time.Until(deadline))
	}
	turn, err := g.limiter.Take(ctx, g.key, g.limit, longest)
	switch {
	case err != nil:
		return err
	case !turn.OK:
		return &BusyError{turn.Wait}
	case turn.Wait == 0:
		return nil
	}
	timer := time.NewTimer(turn.Wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.GiveBack(ctx)
		return ctx.Err()
	}
}
