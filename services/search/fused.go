package search

import (
	"context"
	"errors"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/correction"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// errLate ends the lanes whose engines are not waited for.
var errLate = errors.New("the others have answered")

// lane is what came of the engines of a lane, in the order in which they were
// asked.
type lane struct {
	index    int
	attempts []attempt
}

func (l lane) last() attempt { return l.attempts[len(l.attempts)-1] }

// fused asks independent engines at once. It gives what has come as soon as all
// have answered or, once FusedWait is over, as soon as one has; engines that are
// late are let go and said to be. In place of a family that failed as a whole one
// is asked that nobody has asked yet.
func (s *Service) fused(ctx context.Context, a *answer, p plan, q request, w watcher) {
	lanes, spare := p.lanes(len(q.providers) > 0)
	next := make(chan []candidate, len(spare))
	for _, family := range spare {
		next <- family
	}
	close(next)
	running, release := context.WithCancelCause(ctx)
	defer release(nil)
	ended := make(chan lane, len(lanes))
	for i, engines := range lanes {
		go func() {
			l := lane{i, s.run(running, engines, len(spare) > 0, q, w)}
			for l.last().outcome.Code.TryNext() && running.Err() == nil {
				family, left := <-next
				if !left {
					break
				}
				l.attempts = append(l.attempts, s.run(running, family, len(next) > 0, q, w)...)
			}
			ended <- l
		}()
	}
	patience := time.NewTimer(s.cfg.FusedWait)
	defer patience.Stop()
	all := make([]lane, len(lanes))
	late, answered := false, false
	for range lanes {
		var l lane
		for done := false; !done; {
			select {
			case l = <-ended:
				done = true
			case <-patience.C:
				late = true
				if answered {
					release(errLate)
				}
			}
		}
		all[l.index] = l
		if answered = answered || l.last().outcome.Code.HasResults(); answered && late {
			release(errLate)
		}
	}
	for _, l := range all {
		a.attempts = append(a.attempts, l.attempts...)
	}
	a.answered = mergeable(a.attempts)
}

// run asks engines one after the other until one answers. more says that there are
// others to ask when none of them does.
func (s *Service) run(ctx context.Context, engines []candidate, more bool, q request, w watcher) []attempt {
	var all []attempt
	for i, c := range engines {
		at := s.inTime(ctx, c, more || i < len(engines)-1, q, w)
		all = append(all, at)
		if !at.outcome.Code.TryNext() || ctx.Err() != nil {
			break
		}
	}
	return all
}

// inTime asks an engine so that time is left for those behind it: of what is left
// a third, and no more than an attempt takes.
func (s *Service) inTime(ctx context.Context, c candidate, more bool, q request, w watcher) attempt {
	deadline, limited := ctx.Deadline()
	if !limited || !more {
		return s.attempt(ctx, c, q, w)
	}
	reserve := min(time.Until(deadline)/3, s.cfg.AttemptTimeout)
	ctx, stop := context.WithDeadline(ctx, deadline.Add(-reserve))
	defer stop()
	return s.attempt(ctx, c, q, w)
}

// mergeable are the attempts whose results answer one question: the one that was
// asked, or else the one that the first engine searched instead. Without results
// anywhere it is the first that says so. Attempts with results of another
// question are marked.
func mergeable(attempts []attempt) []attempt {
	var first *attempt
	for i := range attempts {
		at := &attempts[i]
		switch {
		case !at.outcome.Code.Answered():
		case first == nil,
			at.outcome.Code.HasResults() && !first.outcome.Code.HasResults(),
			at.outcome.Code == outcome.OK && first.outcome.Code == outcome.OKAlteredQuery:
			first = at
		}
	}
	if first == nil {
		return nil
	}
	if !first.outcome.Code.HasResults() {
		return []attempt{*first}
	}
	out := []attempt{*first}
	for i := range attempts {
		at := &attempts[i]
		switch {
		case at == first || !at.outcome.Code.HasResults():
		case correction.Same(at.page.AlteredQuery, first.page.AlteredQuery):
			out = append(out, *at)
		default:
			at.outcome, at.apart = at.outcome.Noting("not merged: it searched for something else"), true
		}
	}
	return out
}
