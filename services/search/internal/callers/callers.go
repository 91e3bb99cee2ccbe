// Package callers keeps the number of searches a caller makes within a minute.
package callers

import (
	"sync"
	"time"
)

// window is the time that the limit counts over.
const window = time.Minute

// sweepAt is how many callers are remembered before those who are idle are
// forgotten.
const sweepAt = 1024

// Limiter allows each caller so many calls in any minute. It is safe for
// concurrent use.
type Limiter struct {
	limit int

	mu    sync.Mutex
	calls map[string][]time.Time
	sweep int
}

// New makes a limiter of limit calls a minute; 0 or less means no limit.
func New(limit int) *Limiter {
	return &Limiter{limit: limit, calls: map[string][]time.Time{}, sweep: sweepAt}
}

// Allow counts a call of caller, or tells how long to wait until one is allowed.
// Refused calls do not count.
func (l *Limiter) Allow(caller string) (wait time.Duration, ok bool) {
	if l.limit <= 0 {
		return 0, true
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	recent := since(l.calls[caller], now.Add(-window))
	if len(recent) >= l.limit {
		l.calls[caller] = recent
		return recent[len(recent)-l.limit].Add(window).Sub(now), false
	}
	l.calls[caller] = append(recent, now)
	l.forgetIdle(now)
	return 0, true
}

// forgetIdle bounds the memory by the callers of the last minute. Its cost is
// shared by as many calls as there are callers.
func (l *Limiter) forgetIdle(now time.Time) {
	if len(l.calls) < l.sweep {
		return
	}
	for caller, calls := range l.calls {
		if len(since(calls, now.Add(-window))) == 0 {
			delete(l.calls, caller)
		}
	}
	l.sweep = max(sweepAt, 2*len(l.calls))
}

// since drops the calls up to and including the moment start.
func since(calls []time.Time, start time.Time) []time.Time {
	for len(calls) > 0 && !calls[0].After(start) {
		calls = calls[1:]
	}
	return calls
}
