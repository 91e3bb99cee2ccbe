package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
)

// transactions runs each closure in a transaction of its own on a server, as
// many at a time as there are connections.
type transactions struct {
	db    *bun.DB
	slots chan struct{} // has a token for each closure that is running
	quit  chan struct{}
}

func newTransactions(pool *bun.DB, conns int) *transactions {
	t := &transactions{slots: make(chan struct{}, conns), quit: make(chan struct{})}
	t.db = pool.WithQueryHook(watchTx{t})
	return t
}

func (t *transactions) stop() {
	close(t.quit)
	for range cap(t.slots) { // whoever has a slot ends
		t.slots <- struct{}{}
	}
}

func (t *transactions) do(ctx context.Context, fn func(ctx context.Context, tx bun.IDB) error) error {
	if ctx.Value(attemptKey{t}) != nil {
		return ErrNested
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("store: write not started: %w", err)
	}
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return fmt.Errorf("store: write not started: %w: %d writes are going on: %w", ErrUnavailable, cap(t.slots), ctx.Err())
	case <-t.quit:
		return ErrClosed
	}
	begun, conflicts, losses := time.Now(), 0, 0
	for {
		if t.stopped() {
			return ErrClosed
		}
		err := t.once(ctx, fn)
		switch {
		case err == nil || errors.Is(err, ErrUnknownCommit):
			return err
		case ctx.Err() != nil && isLost(err): // the driver gives up a connection whose ctx has ended
			return fmt.Errorf("store: write undone: %w: %v", ctx.Err(), err)
		case ctx.Err() != nil:
			return explain(err)
		case isConflict(err):
			conflicts++
		case isLost(err):
			losses++
		default:
			return explain(err)
		}
		if conflicts > maxConflicts || losses > maxLosses || time.Since(begun) > retryFor {
			return explain(err)
		}
		if !t.pause(ctx, conflicts+losses) {
			return explain(err)
		}
	}
}

func (t *transactions) stopped() bool {
	select {
	case <-t.quit:
		return true
	default:
		return false
	}
}

// pause waits before the next attempt, each time about twice as long; false
// when there will be none.
func (t *transactions) pause(ctx context.Context, failures int) bool {
	longest := min(firstPause<<(failures-1), maxPause)
	timer := time.NewTimer(longest/2 + rand.N(longest/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-t.quit:
	}
	return false
}

// once is one attempt. Its error is the database's own, for do to judge.
func (t *transactions) once(ctx context.Context, fn func(ctx context.Context, tx bun.IDB) error) error {
	a := &attempt{}
	ctx = context.WithValue(ctx, attemptKey{t}, a)
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	err = call(ctx, fn, tx)
	if ended := a.ended.Load(); ended != nil {
		// The closure may have gone on without its transaction, or hidden why
		// it failed.
		return *ended
	}
	if err != nil {
		return err
	}
	return commit(ctx, tx)
}

func commit(ctx context.Context, tx bun.Tx) error {
	err := tx.Commit()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrTxDone) || ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return fmt.Errorf("store: not committed: %w", errors.Join(ctx.Err(), err)) // never sent
	case errors.Is(err, driver.ErrBadConn):
		return fmt.Errorf("store: commit: %w", err) // never sent either
	case isLost(err):
		return fmt.Errorf("store: %w: %w", ErrUnknownCommit, err)
	}
	return fmt.Errorf("store: commit: %w", err)
}

// attempt is one run of a closure. ended is why the server has ended its
// transaction.
type attempt struct{ ended atomic.Pointer[error] }

// attemptKey marks the ctx of a closure that runs on these transactions.
type attemptKey struct{ t *transactions }

// watchTx notes which failures of statements end a transaction. A closure may
// pass them over, and what it does then must not be taken for a whole.
type watchTx struct{ t *transactions }

func (watchTx) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (w watchTx) AfterQuery(ctx context.Context, e *bun.QueryEvent) {
	if e.Err == nil || !isConflict(e.Err) && !isLost(e.Err) {
		return
	}
	if a, ok := ctx.Value(attemptKey(w)).(*attempt); ok {
		a.ended.CompareAndSwap(nil, &e.Err)
	}
}
