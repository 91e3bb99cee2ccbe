package crawlworker

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/pause"
)

// pace keeps the distance between the requests of a batch. The distance counts
// from when a request was written, not from when somebody began to connect: the
// server must see it. nil keeps none.
type pace struct {
	gap  time.Duration
	turn chan time.Time // when the last request was written; empty while one is on its way
}

func newPace(gap time.Duration) *pace {
	if gap <= 0 {
		return nil
	}
	p := &pace{gap: gap, turn: make(chan time.Time, 1)}
	p.turn <- time.Time{}
	return p
}

// turn is the place of one fetch in the pace: of its request, and of those that
// redirects on the same host make.
type turn struct {
	pace *pace
	has  atomic.Bool // until the request is written
}

// wait takes the turn when its time has come; false when ctx ended first.
func (t *turn) wait(ctx context.Context) bool {
	if t.pace == nil {
		return ctx.Err() == nil
	}
	t.done() // of a request that was never written
	select {
	case last := <-t.pace.turn:
		if d := time.Until(last.Add(t.pace.gap)); d > 0 && pause.For(ctx, d) != nil {
			t.pace.turn <- last
			return false
		}
		t.has.Store(true)
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// done gives the turn on.
func (t *turn) done() {
	if t.has.CompareAndSwap(true, false) {
		t.pace.turn <- time.Now()
	}
}

// traced is ctx for the requests, so that the turn is given on when one was
// written.
func (t *turn) traced(ctx context.Context) context.Context {
	if t.pace == nil {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: t.done})
}
