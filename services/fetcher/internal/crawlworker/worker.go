package crawlworker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pause"
)

// Worker fetches batches. Run it once.
type Worker struct {
	Config
	leases leases
	link   link

	draining context.Context
	drain    context.CancelFunc
	begun    atomic.Bool
	ended    chan struct{}
}

// New makes a worker.
func New(cfg Config) *Worker {
	if cfg.Times == (Times{}) {
		cfg.Times = DefaultTimes()
	}
	w := &Worker{
		Config: cfg,
		leases: leases{held: map[string]*lease{}},
		link:   link{log: cfg.Logger, patience: cfg.Times.Extend},
		ended:  make(chan struct{}),
	}
	w.draining, w.drain = context.WithCancel(context.Background())
	return w
}

// Reasons why a batch is not fetched to its end.
var (
	errLost      = errors.New("the lease belongs to somebody else")
	errCancelled = errors.New("the task was cancelled")
	errExpired   = errors.New("nothing was heard of the task manager until the lease ended")
	errDrained   = errors.New("the worker stops")
)

// Drain ends the worker as the end of its context does, and waits for that until
// ctx ends. It is for processes whose calls stop before what runs in them.
func (w *Worker) Drain(ctx context.Context) {
	w.drain()
	if !w.begun.Load() {
		return
	}
	select {
	case <-w.ended:
	case <-ctx.Done():
	}
}

// Run works until ctx ends, or until it is drained. Then nothing new is fetched,
// and what came is committed, within the time of draining; it always returns nil.
func (w *Worker) Run(ctx context.Context) error {
	w.begun.Store(true)
	defer close(w.ended)
	if w.draining.Err() != nil {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(w.draining, stop)()
	life, end := context.WithCancelCause(auth.NewContext(context.WithoutCancel(ctx), auth.ServicePrincipal("fetcher")))
	defer end(nil)
	drained := make(chan struct{})
	defer close(drained)
	defer context.AfterFunc(ctx, func() {
		t := time.NewTimer(w.Times.Drain)
		defer t.Stop()
		select {
		case <-t.C:
			end(errDrained)
		case <-drained:
		}
	})()
	var batches, renewal sync.WaitGroup
	renewing, stopRenewing := context.WithCancel(life)
	renewal.Go(func() { w.renew(renewing) })
	w.work(ctx, life, &batches)
	batches.Wait()
	stopRenewing()
	renewal.Wait()
	return nil
}

// work leases batches and begins them, until ctx ends.
func (w *Worker) work(ctx, life context.Context, batches *sync.WaitGroup) {
	slots := make(chan struct{}, w.MaxBatches)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		b, l := w.next(ctx, life)
		if b == nil {
			return
		}
		batches.Go(func() {
			defer func() { <-slots }()
			defer w.leases.drop(l)
			w.batch(ctx, l, b)
		})
	}
}

// next waits for a batch; nil when ctx ended first. The lease's context is of
// life, not of ctx.
func (w *Worker) next(ctx, life context.Context) (*taskmanagerv1.CrawlBatch, *lease) {
	wait := backoff{first: w.Times.Backoff, most: w.Times.MaxBackoff}
	for ctx.Err() == nil {
		asked := time.Now()
		b, err := w.ask(ctx, life)
		switch {
		case ctx.Err() != nil && b == nil:
			return nil, nil
		case err != nil:
			w.link.failed(life, err)
			wait.sleep(ctx, err)
		case b == nil:
			w.link.works(life, asked)
			if time.Since(asked) < w.Times.Empty { // no long poll: do not turn in circles
				_ = pause.For(ctx, w.Times.Empty) // the loop looks at ctx
			}
			wait.reset()
		default:
			w.link.works(life, asked)
			return b, w.leases.add(life, b.GetLeaseId())
		}
	}
	return nil, nil
}

// ask is one long poll. It ends with ctx, which may be while a batch is on its
// way; that one is taken up again when its lease ends.
func (w *Worker) ask(ctx, life context.Context) (*taskmanagerv1.CrawlBatch, error) {
	poll, cancel := context.WithTimeout(quiet(life), w.Times.Poll+w.Times.Call)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	got, err := w.Work.LeaseBatch(poll, &taskmanagerv1.LeaseBatchRequest{
		WorkerId: w.ID, MaxUrls: maxTargets, WaitMs: int32(w.Times.Poll.Milliseconds()),
	})
	if err != nil {
		return nil, err
	}
	if b := got.GetBatch(); b.GetLeaseId() != "" {
		return b, nil
	}
	return nil, nil
}
