package crawlworker

import (
	"context"
	"sync"
	"time"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// lease is the right to work on a batch. Its context ends with it, and the cause
// says why.
type lease struct {
	id    string
	ctx   context.Context
	end   context.CancelCauseFunc
	heard time.Time // when it came, or its last renewal was sent; of leases.mu
}

// leases are those of one worker.
type leases struct {
	mu   sync.Mutex
	held map[string]*lease
}

// add begins a lease that has just come.
func (s *leases) add(ctx context.Context, id string) *lease {
	l := &lease{id: id, heard: time.Now()}
	l.ctx, l.end = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[id] = l
	return l
}

func (s *leases) drop(l *lease) {
	s.mu.Lock()
	if s.held[l.id] == l {
		delete(s.held, l.id)
	}
	s.mu.Unlock()
	l.end(nil)
}

func (s *leases) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.held))
	for id := range s.held {
		ids = append(ids, id)
	}
	return ids
}

// renewed takes the answer to a renewal of ids that was sent at a time.
func (s *leases) renewed(ids []string, sent time.Time, answer *taskmanagerv1.ExtendLeaseResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if l := s.held[id]; l != nil {
			l.heard = sent
		}
	}
	finish := func(ids []string, why error) {
		for _, id := range ids {
			if l := s.held[id]; l != nil {
				l.end(why)
			}
		}
	}
	finish(answer.GetLost(), errLost)
	finish(answer.GetCancelled(), errCancelled)
}

// expire ends the leases of which nothing was heard for a time. Clocks of two
// machines are never compared: the task manager decides what still counts, and
// this is only when there is no use in going on.
func (s *leases) expire(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.held {
		if time.Since(l.heard) >= after {
			l.end(errExpired)
		}
	}
}

// renew renews all leases at once, again and again, until ctx ends.
func (w *Worker) renew(ctx context.Context) {
	tick := time.NewTicker(w.Times.Extend)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ids := w.leases.ids()
		if len(ids) == 0 {
			continue
		}
		sent := time.Now()
		call, cancel := context.WithTimeout(quiet(ctx), w.Times.Call)
		answer, err := w.Work.ExtendLease(call, &taskmanagerv1.ExtendLeaseRequest{WorkerId: w.ID, LeaseIds: ids})
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.link.failed(ctx, err)
		default:
			w.link.works(ctx, sent)
			w.leases.renewed(ids, sent, answer)
		}
		w.leases.expire(w.Times.Lease)
	}
}
