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
	free := make(chan struct{}, askAtOnce)
	for {
		changed := d.Board.Changed() // before looking
		asks, next := d.Board.Unchecked(d.now(), askAtOnce-len(free))
		for _, a := range asks {
			free <- struct{}{}
			wg.Go(func() {
				defer func() { <-free }()
				d.ask(ctx, a)
			})
		}
		wait := lookShared
		if next > 0 {
			wait = min(max(time.Duration(next-d.now())*time.Millisecond, shortest), wait)
		}
		if len(free) == askAtOnce {
			changed = nil // a place comes free with a change, but not with every one
			wait = lookSoon / 4
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

// ask asks about one origin of one task.
func (d *Dispatcher) ask(ctx context.Context, a board.Ask) {
	again, stale := int64(0), false
	defer func() { d.Board.Asked(a, again, stale) }()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	urls := make([]string, len(a.Addresses))
	for i, r := range a.Addresses {
		urls[i] = r.URL
	}
	v, err := d.Robots(ctx, urls)
	if err != nil {
		again = d.now() + askAgain.Milliseconds()
		if ctx.Err() == nil {
			d.complain(ctx, "robots.txt could not be asked for", err)
		}
		return
	}
	checked, err := d.Frontier.Robots(ctx, a.Addresses, v)
	if err != nil {
		again = d.now() + askAgain.Milliseconds()
		d.complain(ctx, "what robots.txt says was not kept", err)
		return
	}
	d.Board.Checked(a.TaskID, a.Origin, checked)
	if stale = checked.Stale; stale {
		d.lookSoon()
	}
	d.Hub.Tell(a.TaskID)
}
