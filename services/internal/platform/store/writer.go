package store

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/uptrace/bun"
)

// writer owns the one connection that writes to a SQLite file.
type writer struct {
	db      *bun.DB
	jobs    chan *job // unbuffered: whoever waits is the queue, in order of arrival
	quit    chan struct{}
	stopped chan struct{}
	commits atomic.Int64
}

// job is one closure on its way through the writer.
type job struct {
	caller   context.Context // decides whether fn still starts
	inner    context.Context // given to fn: marked, and without caller's cancellation
	fn       func(ctx context.Context, tx bun.IDB) error
	done     chan error
	finished bool // of the writer's goroutine
}

func (j *job) finish(err error) {
	if !j.finished {
		j.finished = true
		j.done <- err
	}
}

// insideKey marks the ctx of a closure that runs on this writer.
type insideKey struct{ w *writer }

func startWriter(db *bun.DB) *writer {
	w := &writer{db: db, jobs: make(chan *job), quit: make(chan struct{}), stopped: make(chan struct{})}
	go w.loop()
	return w
}

func (w *writer) stop() {
	close(w.quit)
	<-w.stopped
}

func (w *writer) do(ctx context.Context, fn func(ctx context.Context, tx bun.IDB) error) error {
	if ctx.Value(insideKey{w}) != nil {
		return ErrNested
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("store: write not started: %w", err)
	}
	j := &job{
		caller: ctx,
		inner:  context.WithValue(context.WithoutCancel(ctx), insideKey{w}, true),
		fn:     fn,
		done:   make(chan error, 1),
	}
	select {
	case w.jobs <- j:
		return <-j.done
	case <-ctx.Done():
		return fmt.Errorf("store: write not started: %w", ctx.Err())
	case <-w.quit:
		return ErrClosed
	}
}

func (w *writer) loop() {
	ended := false
	defer func() {
		if !ended { // a closure ended this goroutine (runtime.Goexit): carry on in another
			go w.loop()
			return
		}
		close(w.stopped)
	}()
	for {
		select {
		case j := <-w.jobs:
			w.batch(j, maxBatch)
		case <-w.quit:
			ended = true
			return
		}
	}
}

// batch runs first and whoever waits by the time it is done, up to limit, in one
// transaction.
func (w *writer) batch(first *job, limit int) {
	ran := []*job{first}
	defer func() { // only what runtime.Goexit left behind
		for _, j := range ran {
			j.finish(errGoexit)
		}
	}()

	tx, err := w.db.BeginTx(context.Background(), nil)
	if err != nil {
		first.finish(fmt.Errorf("store: begin: %w", explain(err)))
		return
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit

	for j := first; j != nil; {
		err, lost := w.run(tx, j)
		if lost {
			// The transaction is gone and with it what the others did: they get
			// another one, each alone, so that nobody can spoil it for them again.
			j.finish(err)
			_ = tx.Rollback()
			for _, other := range ran {
				if !other.finished {
					w.batch(other, 1)
				}
			}
			return
		}
		if err != nil {
			j.finish(err) // undone already, no need to wait for the commit
		}
		if j = w.waiting(len(ran) < limit); j != nil {
			ran = append(ran, j)
		}
	}

	err = tx.Commit()
	if err != nil {
		err = fmt.Errorf("store: commit: %w", explain(err))
	} else {
		w.commits.Add(1)
	}
	for _, j := range ran {
		j.finish(err)
	}
}

// waiting takes in the next job if somebody waits and there is room.
func (w *writer) waiting(room bool) *job {
	if !room {
		return nil
	}
	select {
	case j := <-w.jobs:
		return j
	default:
		return nil
	}
}

// run gives the job a savepoint. lost tells that the whole transaction is gone:
// SQLite ends it by itself on a full disk, an I/O error, or an interrupted
// statement (https://www.sqlite.org/lang_transaction.html, section 3).
func (w *writer) run(tx bun.Tx, j *job) (err error, lost bool) {
	if err := j.caller.Err(); err != nil {
		return fmt.Errorf("store: write not started: %w", err), false
	}
	savepoint, err := tx.BeginTx(j.inner, nil)
	if err != nil {
		return fmt.Errorf("store: savepoint: %w", explain(err)), true
	}
	if err := call(j.inner, j.fn, savepoint); err != nil {
		undo := savepoint.Rollback()
		return explain(err), undo != nil
	}
	if err := savepoint.Commit(); err != nil {
		return fmt.Errorf("store: release savepoint: %w", explain(err)), true
	}
	return nil, false
}

// call runs a closure and turns a panic into an error.
func call(ctx context.Context, fn func(ctx context.Context, tx bun.IDB) error, tx bun.Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return fn(ctx, tx)
}

var errGoexit = errors.New("store: the write's goroutine was ended by runtime.Goexit (a t.Fatal in the closure?)")
