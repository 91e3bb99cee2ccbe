package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// renew prolongs all leases and returns when to do so again. Leases that could
// not be prolonged in time are given up: somebody else may have them by now.
func (e *Engine) renew(ctx context.Context) (again time.Duration) {
	jobs := e.jobs()
	begun := e.Now()
	leases := make([]run.Lease, len(jobs))
	for i, j := range jobs {
		leases[i] = j.lease
	}
	var told map[string]run.Renewed
	var err error
	if len(jobs) > 0 {
		ctx, cancel := context.WithTimeout(ctx, run.LeaseTime)
		told, err = e.Runs.Renew(ctx, e.Owner, leases)
		cancel()
	}
	if err != nil {
		e.Log.ErrorContext(ctx, "leases were not renewed", "runs", len(jobs), "error", err)
		e.mu.Lock()
		late := begun.Sub(e.renewed) > run.LeaseTime
		e.mu.Unlock()
		if late {
			for _, j := range jobs {
				j.cancel(errLost)
			}
		}
		return renewAgain
	}
	e.mu.Lock()
	e.renewed = begun
	e.mu.Unlock()
	for _, j := range jobs {
		switch t := told[j.run.ID]; {
		case t.Lost:
			j.cancel(errLost)
		case t.Cancel:
			j.cancel(errCancelled)
		}
	}
	return run.RenewEvery
}

// sweepAll takes runs that need an owner, until ctx ends. It goes beside the
// renewals: however long it takes, leases are kept.
func (e *Engine) sweepAll(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-e.kick:
		}
		e.sweep(ctx)
	}
}

// sweep takes runs that need an owner, as many as there is room for.
func (e *Engine) sweep(ctx context.Context) {
	e.mu.Lock()
	room := e.cfg.MaxRuns - len(e.owned) - e.reserved
	e.mu.Unlock()
	if room <= 0 {
		return
	}
	ids, err := e.Runs.Claimable(ctx, e.cfg.Limits, room)
	if ctx.Err() != nil {
		return // the process ends
	}
	if err != nil {
		e.Log.ErrorContext(ctx, "runs without an owner were not read", "error", err)
		return
	}
	for _, id := range ids {
		e.claim(ctx, id)
	}
}

func (e *Engine) claim(ctx context.Context, id string) {
	free, leave, ok := e.enter()
	if !ok {
		return
	}
	defer leave()
	e.mu.Lock()
	_, mine := e.owned[id]
	e.mu.Unlock()
	if mine || !free {
		return
	}
	r, l, err := e.Runs.Claim(ctx, id, e.Owner, e.cfg.Limits)
	switch {
	case errors.Is(err, run.ErrFenced):
		return
	case err != nil:
		e.Log.ErrorContext(ctx, "run was not claimed", "run", id, "error", err)
		return
	case r.Takeovers > run.MaxTakeovers && !r.CancelRequested:
		e.Log.ErrorContext(ctx, "run is parked: it was taken over too often without progress", "run", id)
		if err := e.Runs.Park(ctx, l, schema.WaitStuckRun, stuck(r)...); err != nil {
			e.Log.ErrorContext(ctx, "run was not parked", "run", id, "error", err)
		}
		return
	}
	e.launch(context.WithoutCancel(ctx), r, l, nil)
}

// stuck tells readers that a run is left to a person.
func stuck(r schema.Run) []*pb.RunEvent {
	return []*pb.RunEvent{restarted(r.Rounds), notice(NoticeStuck, r.Rounds, fmt.Sprintf(
		"The server stopped %d times while the run was at this point. It is not tried again by itself; cancel it to go on with the conversation.", run.MaxTakeovers+1))}
}
