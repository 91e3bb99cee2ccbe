package crawlworker

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// maxFailuresInARow of a host end a batch: the rest of its addresses would only
// wait for the same.
const maxFailuresInARow = 5

// errLeftAlone is why no more requests begin.
var errLeftAlone = errors.New("the host is left alone")

// host is the host of a batch, as long as it is asked. asking ends when it asked
// to be left alone, or when it does not answer: what has begun goes on, and the
// task manager has the other addresses back.
type host struct {
	pace     *pace
	asking   context.Context
	leave    context.CancelCauseFunc
	failures atomic.Int64
}

func newHost(ctx context.Context, gap time.Duration) *host {
	h := &host{pace: newPace(gap)}
	h.asking, h.leave = context.WithCancelCause(ctx)
	return h
}

// came takes into account what became of a request.
func (h *host) came(p *taskmanagerv1.FetchedPage) {
	switch {
	case p.GetOutcome() == outcomeBlocked:
		h.leave(errLeftAlone)
	case p.GetOutcome() != outcomeFailed || !p.GetRetryable() || p.GetStatusCode() != 0:
		h.failures.Store(0)
	case h.failures.Add(1) >= maxFailuresInARow:
		h.leave(errLeftAlone)
	}
}
