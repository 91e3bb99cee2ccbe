package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/board"
)

const (
	// askAtOnce is how many robots.txt are asked for at the same time.
	askAtOnce = 16
	// askAgain after the fetcher itself could not answer.
	askAgain = 2 * time.Second
	// askTimeout bounds one question; the fetcher's own limits are shorter.
	askTimeout = 90 * time.Second
)

// askRobots asks about every origin before any of its addresses is handed out.
func (d *Dispatcher) askRobots(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	asking := make(chan struct{}, askAtOnce)
	for {
		changed := d.Board.Changed() // before looking
		asks, next := d.Board.Unchecked(d.now(), askAtOnce-len(asking))
		for _, a := range asks {
			asking <- struct{}{}
			wg.Go(func() {
				// The place comes free first: the board's change then finds it so.
				again, stale := d.ask(ctx, a)
				<-asking
				d.Board.Asked(a, again, stale)
			})
		}
		wait := lookShared
		if next > 0 {
			wait = min(max(time.Duration(next-d.now())*time.Millisecond, shortest), wait)
		}
		if len(asking) == askAtOnce {
			wait = lookShared // a place comes free with a change
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// ask asks about one origin of one task, and tells when to ask again if that is
// needed, and whether the board was out of date.
func (d *Dispatcher) ask(ctx context.Context, a board.Ask) (again int64, stale bool) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	urls := make([]string, len(a.Addresses))
	for i, r := range a.Addresses {
		urls[i] = r.URL
	}
	v, err := d.Robots(ctx, urls)
	if err != nil {
		if ctx.Err() == nil {
			d.complain(ctx, "robots.txt could not be asked for", err)
		}
		return d.now() + askAgain.Milliseconds(), false
	}
	checked, err := d.Frontier.Robots(ctx, a.Addresses, v)
	if err != nil {
		d.complain(ctx, "what robots.txt says was not kept", err)
		return d.now() + askAgain.Milliseconds(), false
	}
	d.Board.Checked(a.TaskID, a.Origin, checked)
	if checked.Stale {
		d.lookSoon()
	}
	d.Hub.Tell(a.TaskID)
	return 0, checked.Stale
}
