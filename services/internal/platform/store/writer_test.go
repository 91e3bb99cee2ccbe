package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/uptrace/bun"
)

// hold keeps the writer busy inside a closure until release is called, so that
// a test can build up a queue behind it. release answers the holder's result.
func hold(t *testing.T, db *DB) (release func() error) {
	t.Helper()
	started, gate, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once // a closure may run twice
	go func() {
		done <- db.Write(context.Background(), func(context.Context, bun.IDB) error {
			once.Do(func() { close(started) })
			<-gate
			return nil
		})
	}()
	<-started
	return func() error {
		close(gate)
		return <-done
	}
}

// queued waits until n goroutines are blocked in Write.
func queued(calls *sync.WaitGroup, fns ...func()) {
	for _, fn := range fns {
		calls.Go(fn)
	}
	for blockedSenders() < len(fns) {
		runtime.Gosched()
	}
}

// blockedSenders counts goroutines that wait in writer.do's select.
func blockedSenders() int {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	n := 0
	for _, stack := range strings.Split(string(buf), "\n\n") {
		head, body, _ := strings.Cut(stack, "\n")
		first, _, _ := strings.Cut(body, "\n")
		if strings.Contains(head, "[select") && strings.Contains(first, "(*writer).do") {
			n++
		}
	}
	return n
}

func TestWritesQueuedBehindOneShareACommit(t *testing.T) {
	db := open(t, testConfig(t))
	release := hold(t, db)
	const n = 200
	var calls sync.WaitGroup
	fns := make([]func(), n)
	for i := range n {
		fns[i] = func() {
			if err := db.Write(context.Background(), insert(int64(i+1), fmt.Sprint("note ", i))); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		}
	}
	queued(&calls, fns...)
	if err := release(); err != nil {
		t.Errorf("holding write: %v", err)
	}
	calls.Wait()

	if got := len(texts(t, db)); got != n {
		t.Errorf("%d rows, want %d", got, n)
	}
	// The holder and 63 others, then 64, 64 and 9.
	if got := group(db).commits.Load(); got != 4 {
		t.Errorf("%d commits for 201 queued writes, want 4 batches of at most 64", got)
	}
}

func TestManyWritersAtOnce(t *testing.T) {
	db := open(t, testConfig(t))
	const goroutines, each = 200, 10
	var calls sync.WaitGroup
	for g := range goroutines {
		calls.Go(func() {
			for i := range each {
				id := int64(g*each + i + 1)
				if err := db.Write(context.Background(), insert(id, fmt.Sprint(id))); err != nil {
					t.Errorf("write %d: %v", id, err)
				}
				// A write is visible to the next read of the goroutine that made it.
				if n, err := db.Read().NewSelect().Model((*note)(nil)).Where("id = ?", id).Count(context.Background()); err != nil || n != 1 {
					t.Errorf("row %d after commit: %d, %v", id, n, err)
				}
			}
		})
	}
	calls.Wait()
	if got := len(texts(t, db)); got != goroutines*each {
		t.Errorf("%d rows, want %d", got, goroutines*each)
	}
	if commits := group(db).commits.Load(); commits >= goroutines*each/2 {
		t.Errorf("%d commits for %d writes: not grouped", commits, goroutines*each)
	}
}

func TestWritesRunInOrderOfArrival(t *testing.T) {
	db := open(t, testConfig(t))
	release := hold(t, db)
	var order []int
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			_ = db.Write(context.Background(), func(context.Context, bun.IDB) error {
				order = append(order, i) // one writer: no lock needed
				return nil
			})
		})
		for blockedSenders() <= i {
			runtime.Gosched()
		}
	}
	if err := release(); err != nil {
		t.Errorf("holding write: %v", err)
	}
	calls.Wait()
	if !slices.IsSorted(order) || len(order) != 20 {
		t.Errorf("order = %v", order)
	}
}

func TestAFailingClosureUndoesOnlyItself(t *testing.T) {
	db := open(t, testConfig(t))
	errWanted := errors.New("changed my mind")
	const n = 6
	results := make([]error, n)
	after := func(i int, end func() error) func() {
		return func() {
			results[i] = db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
				if err := insert(int64(i+1), fmt.Sprint("note ", i))(ctx, tx); err != nil {
					return err
				}
				return end()
			})
		}
	}
	fine := func() error { return nil }
	release := hold(t, db)
	var calls sync.WaitGroup
	queued(&calls,
		after(0, fine),
		after(1, func() error { return errWanted }),
		after(2, fine),
		after(3, func() error { panic("boom") }),
		after(4, func() error { return results[n:][0] }),
		after(5, fine),
	)
	if err := release(); err != nil {
		t.Errorf("holding write: %v", err)
	}
	calls.Wait()

	if got, want := texts(t, db), []string{"note 0", "note 2", "note 5"}; !slices.Equal(got, want) {
		t.Errorf("rows = %q, want %q", got, want)
	}
	if got := group(db).commits.Load(); got != 1 {
		t.Errorf("%d commits, want 1 for the whole batch", got)
	}
	for _, i := range []int{0, 2, 5} {
		if results[i] != nil {
			t.Errorf("write %d: %v", i, results[i])
		}
	}
	if !errors.Is(results[1], errWanted) {
		t.Errorf("write 1: %v", results[1])
	}
	var panicked *PanicError
	if !errors.As(results[3], &panicked) || panicked.Value != "boom" || !strings.Contains(string(panicked.Stack), "writer_test.go") {
		t.Errorf("write 3: %v", results[3])
	}
	if !errors.As(results[4], &panicked) || !strings.Contains(results[4].Error(), "out of range") {
		t.Errorf("write 4: %v", results[4])
	}
}

func TestAClosureThatLosesTheTransactionSpoilsItForNobodyElse(t *testing.T) {
	db := open(t, testConfig(t))
	results := make([]error, 3)
	release := hold(t, db)
	var calls sync.WaitGroup
	write := func(i int, fn func(context.Context, bun.IDB) error) func() {
		return func() { results[i] = db.Write(context.Background(), fn) }
	}
	queued(&calls,
		write(0, insert(1, "before")),
		write(1, func(ctx context.Context, tx bun.IDB) error {
			if _, err := tx.ExecContext(ctx, "ROLLBACK"); err != nil { // as SQLite does by itself on an I/O error
				return err
			}
			return errors.New("disk trouble")
		}),
		write(2, insert(2, "after")),
	)
	if err := release(); err != nil {
		t.Errorf("holding write: %v", err)
	}
	calls.Wait()

	if got, want := texts(t, db), []string{"before", "after"}; !slices.Equal(got, want) {
		t.Errorf("rows = %q, want %q", got, want)
	}
	if results[0] != nil || results[2] != nil {
		t.Errorf("neighbours: %v, %v", results[0], results[2])
	}
	if results[1] == nil || results[1].Error() != "disk trouble" {
		t.Errorf("culprit: %v", results[1])
	}
}

func TestAFailedCommitIsToldToEverybodyInIt(t *testing.T) {
	cfg := testConfig(t)
	cfg.Migrations = migrations(createNotes, "CREATE TABLE late (id INTEGER PRIMARY KEY, note INTEGER REFERENCES notes(id) DEFERRABLE INITIALLY DEFERRED);")
	db := open(t, cfg)
	results := make([]error, 2)
	release := hold(t, db)
	var calls sync.WaitGroup
	queued(&calls,
		func() { results[0] = db.Write(context.Background(), insert(1, "good")) },
		func() {
			results[1] = db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO late (id, note) VALUES (1, 99)")
				return err
			})
		},
	)
	holder := release() // part of the same transaction
	calls.Wait()
	for i, err := range append(results, holder) {
		if err == nil || !strings.Contains(err.Error(), "store: commit: ") {
			t.Errorf("write %d: %v, want a commit error", i, err)
		}
	}
	if got := texts(t, db); len(got) != 0 {
		t.Errorf("rows = %q after a failed commit", got)
	}
	if err := db.Write(context.Background(), insert(1, "next")); err != nil {
		t.Errorf("the writer must live on: %v", err)
	}
}

func TestContext(t *testing.T) {
	db := open(t, testConfig(t))

	t.Run("ended before the call: not run", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := db.Write(ctx, func(context.Context, bun.IDB) error { t.Error("ran"); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("ended in the queue: not run, and the caller is free at once", func(t *testing.T) {
		release := hold(t, db)
		ctx, cancel := context.WithCancel(context.Background())
		got := make(chan error, 1)
		var calls sync.WaitGroup
		queued(&calls, func() {
			got <- db.Write(ctx, func(context.Context, bun.IDB) error { t.Error("ran"); return nil })
		})
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		if err := release(); err != nil {
			t.Errorf("holding write: %v", err)
		}
		calls.Wait()
	})
	t.Run("ended while running: carried to the end", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), ctxKey{}, "kept"))
		defer cancel()
		err := db.Write(ctx, func(inner context.Context, tx bun.IDB) error {
			cancel()
			if inner.Value(ctxKey{}) != "kept" {
				t.Error("the closure's ctx must have the caller's values")
			}
			return insert(77, "finished")(inner, tx)
		})
		if err != nil {
			t.Errorf("err = %v", err)
		}
		if got := texts(t, db); !slices.Equal(got, []string{"finished"}) {
			t.Errorf("rows = %q", got)
		}
	})
}

type ctxKey struct{}

func TestGoexitInAClosureDoesNotStopTheWriter(t *testing.T) {
	db := open(t, testConfig(t))
	err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
		_ = insert(1, "lost")(ctx, tx)
		runtime.Goexit()
		return nil
	})
	if !errors.Is(err, errGoexit) {
		t.Errorf("err = %v", err)
	}
	if err := db.Write(context.Background(), insert(2, "next")); err != nil {
		t.Errorf("next write: %v", err)
	}
	if got := texts(t, db); !slices.Equal(got, []string{"next"}) {
		t.Errorf("rows = %q", got)
	}
}

func TestWriteAfterCloseIsRefused(t *testing.T) {
	db := open(t, testConfig(t))
	release := hold(t, db)
	var calls sync.WaitGroup
	var waiting error
	queued(&calls, func() { waiting = db.Write(context.Background(), insert(1, "x")) })
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	<-group(db).quit
	calls.Wait()
	if !errors.Is(waiting, ErrClosed) {
		t.Errorf("waiting write: %v", waiting)
	}
	if err := release(); err != nil {
		t.Errorf("holding write: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	if err := db.Write(context.Background(), insert(1, "x")); !errors.Is(err, ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}
