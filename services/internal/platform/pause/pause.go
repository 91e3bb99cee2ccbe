// Package pause waits.
package pause

import (
	"context"
	"time"
)

// For waits for d, and less when ctx ends before: then it answers its cause.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
