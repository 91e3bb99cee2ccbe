// Package engine brings runs to their end. A run is driven by one goroutine of
// its owner, from what is stored: the finished rounds and the state of their
// calls decide what comes next, so a run that is taken over after a crash takes
// the same way as one that was never interrupted.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/conversation"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/dispatch"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/live"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/peer"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// Deps are what the engine works with.
type Deps struct {
	Runs          *run.Store
	Conversations *conversation.Store
	Results       *result.Keeper
	Hub           *live.Hub
	Tools         *registry.Registry
	Models        Models
	Owner         run.Owner
	Peers         *peer.Peers // nil: none
	Log           *slog.Logger
	Now           func() time.Time
}

// Why the goroutine of a run is told to stop.
var (
	errCancelled = errors.New("somebody asked for the end of the run")
	errLost      = fmt.Errorf("the lease of the run is lost: %w", dispatch.ErrLeft)
	errReleased  = fmt.Errorf("the process ends: %w", dispatch.ErrLeft)
)

// NoticeStuck is the kind of the notice that a run was left to a person.
const NoticeStuck = "stuck"

// tellTime bounds telling the owner of a run something.
const tellTime = 3 * time.Second

const (
	// sweepEvery is how often the engine looks for runs that need an owner.
	sweepEvery = 2 * time.Second
	// renewAgain is when leases are renewed again that could not be.
	renewAgain = time.Second
)

// Engine owns runs.
type Engine struct {
	Deps
	cfg Config

	kick chan struct{}
	wg   sync.WaitGroup // runs, and what may yet launch one

	mu       sync.Mutex
	owned    map[string]*job
	reserved int // places taken by runs that are being started
	draining bool
	renewed  time.Time
}

// job is a run that this process owns.
type job struct {
	run    schema.Run
	lease  run.Lease
	live   *live.Run
	cancel context.CancelCauseFunc
}

// New makes an engine. Run must be called for it to renew leases and to take
// over runs.
func New(cfg Config, deps Deps) *Engine {
	return &Engine{Deps: deps, cfg: cfg, kick: make(chan struct{}, 1), owned: map[string]*job{}}
}

// Start stores a message with the run that answers it and begins to drive it,
// unless it must be queued. ctx may end at once after the return.
func (e *Engine) Start(ctx context.Context, req run.Request) (run.Started, error) {
	free, leave, ok := e.enter()
	if !ok {
		return run.Started{}, rpcerr.New(codes.Unavailable, "DRAINING", "This server is about to stop. Send the message again in a moment.").WithRetry(time.Second)
	}
	defer leave()
	req.Free = free
	st, err := e.Runs.Start(ctx, req, e.Owner, e.cfg.Limits)
	if err != nil || st.Attached || st.Run.Status != schema.RunRunning {
		return st, err
	}
	e.launch(context.WithoutCancel(ctx), st.Run, st.Lease, &st)
	return st, nil
}

// enter is called by whoever may launch a run: the engine does not end before
// leave was called. free says that a place for one more run was taken; ok is
// false when the engine takes no more runs.
func (e *Engine) enter() (free bool, leave func(), ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return false, nil, false
	}
	e.wg.Add(1)
	taken := 0
	if len(e.owned)+e.reserved < e.cfg.MaxRuns {
		taken = 1
	}
	e.reserved += taken
	return taken == 1, func() {
		e.mu.Lock()
		e.reserved -= taken
		e.mu.Unlock()
		e.wg.Done()
	}, true
}

// launch drives a run in a goroutine of its own. st is nil for a run that was
// taken over or was queued.
func (e *Engine) launch(ctx context.Context, r schema.Run, l run.Lease, st *run.Started) {
	ctx, cancel := context.WithCancelCause(ctx)
	j := &job{run: r, lease: l, cancel: cancel}
	seq := r.LastSeq
	if st != nil {
		seq = 0
	}
	j.live = e.Hub.Open(r.ID, seq)
	if st != nil {
		j.live.Publish(st.Events)
	}
	e.mu.Lock()
	e.owned[r.ID] = j
	draining := e.draining
	e.mu.Unlock()
	if draining {
		cancel(errReleased)
	}
	e.wg.Go(func() {
		defer cancel(nil)
		defer e.forget(j)
		e.drive(ctx, j, st)
	})
}

func (e *Engine) forget(j *job) {
	e.Hub.Close(j.live)
	e.mu.Lock()
	if e.owned[j.run.ID] == j {
		delete(e.owned, j.run.ID)
	}
	e.mu.Unlock()
	e.wake()
}

// wake makes the sweeper look now.
func (e *Engine) wake() {
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

// Cancel asks a run to end. The run is returned as it stands after the request
// was taken: a running one ends a moment later.
func (e *Engine) Cancel(ctx context.Context, userID, runID string) (schema.Run, error) {
	r, err := e.Runs.RequestCancel(ctx, userID, runID, e.Owner)
	if err != nil {
		return r, err
	}
	e.mu.Lock()
	j := e.owned[runID]
	e.mu.Unlock()
	if j != nil {
		j.cancel(errCancelled)
		return r, nil
	}
	if ctx, owner, ok := e.Peers.Owner(ctx, r.LeaseAddr); ok && r.Status == schema.RunRunning {
		ctx, cancel := context.WithTimeout(ctx, tellTime)
		defer cancel()
		if _, err := owner.CancelRun(ctx, &pb.CancelRunRequest{RunId: r.ID}); err != nil {
			e.Log.WarnContext(ctx, "owner of the run was not told to cancel; it sees it at its next renewal", "run", r.ID, "error", err)
		}
	}
	return r, nil
}

// Run renews leases and takes over runs until ctx ends. It then lets the runs
// go on for a while, releases what is left, and returns when no goroutine of
// the engine is left.
func (e *Engine) Run(ctx context.Context) error {
	renew := time.NewTicker(run.RenewEvery)
	defer renew.Stop()
	e.mu.Lock()
	e.renewed = e.Now()
	e.mu.Unlock()
	e.wake()
	var sweeping sync.WaitGroup
	sweeping.Go(func() { e.sweepAll(ctx) })
	defer sweeping.Wait()
	for {
		select {
		case <-ctx.Done():
			e.drain(context.WithoutCancel(ctx))
			return nil
		case <-renew.C:
			renew.Reset(e.renew(ctx))
		}
	}
}

// drain ends the engine.
func (e *Engine) drain(ctx context.Context) {
	e.mu.Lock()
	e.draining = true
	e.mu.Unlock()
	done := make(chan struct{})
	go func() {
		e.wg.Wait()
		close(done)
	}()
	renew := time.NewTicker(run.RenewEvery)
	defer renew.Stop()
	enough := time.NewTimer(e.cfg.DrainTime)
	defer enough.Stop()
	for {
		select {
		case <-done:
			return
		case <-renew.C:
			renew.Reset(e.renew(ctx))
		case <-enough.C:
			for _, j := range e.jobs() {
				j.cancel(errReleased)
			}
		}
	}
}

func (e *Engine) jobs() []*job {
	e.mu.Lock()
	defer e.mu.Unlock()
	jobs := make([]*job, 0, len(e.owned))
	for _, j := range e.owned {
		jobs = append(jobs, j)
	}
	return jobs
}
