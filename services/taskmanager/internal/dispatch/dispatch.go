// Package dispatch brings work and workers together: it waits for a host whose
// time has come, has its robots.txt asked for, frees what dead workers held, and
// keeps the board like the database.
package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/board"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/hub"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

const (
	// lookShared is how often a replica looks for what others did, and lookAlone
	// how often a process that is alone does, for which it is only a backstop.
	lookShared = time.Second
	lookAlone  = 10 * time.Second
	// lookSoon is how soon it looks after its picture was found to be wrong.
	lookSoon = 200 * time.Millisecond
	// expireEvery is how often leases whose time is over are looked for.
	expireEvery = time.Second
	// othersAsk is how long a replica leaves it to the one that made a task to ask
	// for robots.txt.
	othersAsk = 3 * time.Second
	// shortest wait for something to do.
	shortest = time.Millisecond
)

// ErrDraining says that no more work is handed out here.
var ErrDraining = errors.New("dispatch: this process is about to end")

// Robots asks for the verdict of a robots.txt on addresses of one origin.
type Robots func(ctx context.Context, urls []string) (frontier.Verdict, error)

// Dispatcher is safe for concurrent use.
type Dispatcher struct {
	Frontier *frontier.Store
	Board    *board.Board
	Hub      *hub.Hub
	Robots   Robots
	// Shared says that other replicas work on the database.
	Shared bool
	// Draining is closed when no more work is to be handed out.
	Draining <-chan struct{}
	Log      *slog.Logger

	offset  atomic.Int64 // of the database's clock, in milliseconds
	asked   atomic.Int64 // when a worker last asked for work
	kick    chan struct{}
	started time.Time
	once    sync.Once
}

func (d *Dispatcher) init() {
	d.once.Do(func() { d.kick, d.started = make(chan struct{}, 1), time.Now() })
}

// elapsed is the time of this process in milliseconds, which no clock changes.
func (d *Dispatcher) elapsed() int64 { return time.Since(d.started).Milliseconds() }

// now is about what the database's clock shows.
func (d *Dispatcher) now() int64 { return d.elapsed() + d.offset.Load() }

// Idle is how long ago a worker last asked this process for work.
func (d *Dispatcher) Idle() time.Duration {
	d.init()
	return time.Duration(d.elapsed()-d.asked.Load()) * time.Millisecond
}

// Lease waits for work for at most wait. frontier.ErrNotNow: there is none.
func (d *Dispatcher) Lease(ctx context.Context, worker string, most int, wait time.Duration) (frontier.Leased, error) {
	d.init()
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for {
		d.asked.Store(d.elapsed())
		select {
		case <-d.Draining:
			return frontier.Leased{}, ErrDraining
		default:
		}
		changed := d.Board.Changed() // before looking
		c, next, ok := d.Board.Pick(d.now())
		if ok {
			l, err := d.take(ctx, c, worker, most)
			if !errors.Is(err, frontier.ErrNotNow) {
				return l, err
			}
			continue
		}
		if err := d.sleep(ctx, next, changed, deadline.C); err != nil {
			return frontier.Leased{}, err
		}
	}
}

// sleep returns nil when it is worth looking again.
func (d *Dispatcher) sleep(ctx context.Context, next int64, changed <-chan struct{}, deadline <-chan time.Time) error {
	wait := lookShared
	if next > 0 {
		wait = min(max(time.Duration(next-d.now())*time.Millisecond, shortest), wait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-d.Draining:
		return ErrDraining
	case <-deadline:
		return frontier.ErrNotNow
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (d *Dispatcher) take(ctx context.Context, c board.Candidate, worker string, most int) (frontier.Leased, error) {
	l, err := d.Frontier.Lease(ctx, frontier.Want{TaskID: c.TaskID, Origin: c.Origin, Host: c.Host, WorkerID: worker, Max: most})
	if err != nil {
		d.Board.NotNow(c, d.now())
		d.lookSoon()
		return l, err
	}
	d.Board.Leased(c, l)
	d.Hub.Tell(c.TaskID)
	return l, nil
}

// Created shows a new task.
func (d *Dispatcher) Created(ctx context.Context, t schema.Task) {
	if t.Ended() {
		return
	}
	d.init()
	open, err := d.Frontier.Open(ctx, t.ID)
	if err != nil {
		d.lookSoon()
		return
	}
	d.Board.Put(t, open, 0)
}

// Committed shows what a part did.
func (d *Dispatcher) Committed(c frontier.Committed) {
	if !c.Changed {
		return
	}
	d.Board.Committed(c)
	d.Hub.Tell(c.Task.ID)
}

// Ended shows that a task has ended otherwise.
func (d *Dispatcher) Ended(taskID string) {
	d.Board.Removed(taskID)
	d.Hub.Tell(taskID)
	if d.kick != nil {
		d.lookSoon() // its hosts are free
	}
}

func (d *Dispatcher) lookSoon() {
	d.init()
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// Run keeps the board like the database, until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) {
	d.init()
	var wg sync.WaitGroup
	wg.Go(func() { d.look(ctx) })
	wg.Go(func() { d.expire(ctx) })
	wg.Go(func() { d.askRobots(ctx) })
	wg.Wait()
}

func (d *Dispatcher) look(ctx context.Context) {
	every := lookAlone
	if d.Shared {
		every = lookShared
	}
	for {
		if err := d.Look(ctx); err != nil && ctx.Err() == nil {
			d.complain(ctx, "what is to be crawled could not be read", err)
		}
		if !pause(ctx, lookSoon) {
			return
		}
		timer := time.NewTimer(every - lookSoon)
		select {
		case <-timer.C:
		case <-d.kick:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// Look reads what is to be done.
func (d *Dispatcher) Look(ctx context.Context) error {
	d.init()
	db, err := d.Frontier.Clock(ctx, d.read())
	if err != nil {
		return err
	}
	d.offset.Store(db - d.elapsed())
	stamp := d.Board.Stamp()
	p, err := d.Frontier.Picture(ctx, func(t *schema.Task) bool { return !d.Board.Knows(t) })
	if err != nil {
		return err
	}
	askAt := int64(0)
	if d.Shared {
		askAt = d.now() + othersAsk.Milliseconds()
	}
	d.Board.Show(p, stamp, askAt)
	hosts, err := d.Frontier.Hosts(ctx, d.Board.Hosts())
	if err != nil {
		return err
	}
	d.Board.ShowHosts(hosts, p.Leases, stamp)
	return nil
}

func (d *Dispatcher) read() bun.IDB { return d.Frontier.DB.Read() }

func (d *Dispatcher) expire(ctx context.Context) {
	for pause(ctx, expireEvery) {
		freed, err := d.Frontier.Expire(ctx)
		if err != nil && ctx.Err() == nil {
			d.complain(ctx, "leases of lost workers were not freed", err)
		}
		if len(freed) > 0 {
			d.Log.InfoContext(ctx, "workers were lost; what they had is handed out again", "leases", len(freed))
			d.Board.Freed(freed...)
			d.lookSoon()
		}
	}
}

// complain tells of what will be tried again.
func (d *Dispatcher) complain(ctx context.Context, what string, err error) {
	level := slog.LevelWarn
	if store.IsUnavailable(err) {
		level = slog.LevelInfo
	}
	d.Log.Log(ctx, level, what, "error", err)
}

func pause(ctx context.Context, t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
