package ratelimit

import (
	"context"
	"time"
)

const (
	// MaxN is the largest N of a Limit; what is beyond counts as MaxN.
	MaxN = 1000
	// MaxWait is the furthest that a turn can be away and be taken.
	MaxWait = time.Hour
)

// Limit allows N turns in any stretch of Per. N of 0 or less, like a Per of 0
// or less, means no limit.
type Limit struct {
	N   int
	Per time.Duration
}

func (l Limit) none() bool { return l.N <= 0 || l.Per <= 0 }

// Limiter hands out turns. It is safe for concurrent use.
type Limiter interface {
	// Take takes the next turn under key, when it is at most longest (and
	// MaxWait) away; with a longest of 0, only one that is free now. Refused turns do not count. One
	// key has one limit. The only error is that of a ctx that has ended.
	Take(ctx context.Context, key string, limit Limit, longest time.Duration) (Turn, error)
}

// Turn is the answer of a Limiter.
type Turn struct {
	// OK says that the turn was taken; it comes after Wait.
	OK bool
	// Wait is how long the turn is away: 0 for one that is free now. When it was
	// not taken, the same question is answered with a yes after that time, if
	// nobody else is quicker.
	Wait time.Duration

	giveBack func(context.Context)
}

// GiveBack frees a turn that was taken and will not be used. Turns that were
// taken behind it keep their times.
func (t Turn) GiveBack(ctx context.Context) {
	if t.giveBack != nil {
		t.giveBack(ctx)
	}
}
