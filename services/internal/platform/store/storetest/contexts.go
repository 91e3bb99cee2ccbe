package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
)

var contexts = []test{
	{"a ctx that has ended starts nothing", ended},
	{"a ctx that ends in the queue frees the caller and starts nothing", endedInTheQueue},
	{"a closure has the values of its caller's ctx", values},
	{"a ctx that ends while the closure runs leaves the whole write or nothing", endedWhileRunning},
	{"the clock for leases goes forward", clock},
}

func ended(w *world) {
	db := w.open()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := db.Write(ctx, func(context.Context, bun.IDB) error { w.Error("ran"); return nil })
	if !errors.Is(err, context.Canceled) || store.IsUnavailable(err) {
		w.Errorf("err = %v", err)
	}
}

func endedInTheQueue(w *world) {
	w.cfg.Writers = 3
	db := w.open()
	running := w.cfg.Writers
	if db.Driver() == store.DriverSQLite {
		running = 1
	}
	started, finish := make(chan struct{}, running), make(chan struct{})
	var holders sync.WaitGroup
	for range running {
		holders.Go(func() {
			var once sync.Once
			err := db.Write(context.Background(), func(context.Context, bun.IDB) error {
				once.Do(func() { started <- struct{}{} })
				<-finish
				return nil
			})
			if err != nil {
				w.Errorf("holder: %v", err)
			}
		})
	}
	for range running {
		<-started
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := db.Write(ctx, func(context.Context, bun.IDB) error { w.Error("ran"); return nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		w.Errorf("err = %v", err)
	}
	if db.Driver() == store.DriverMySQL && !errors.Is(err, store.ErrUnavailable) {
		w.Errorf("a pool without room: %v", err)
	}
	close(finish)
	holders.Wait()
}

type ctxKey struct{}

func values(w *world) {
	err := w.open().Write(context.WithValue(context.Background(), ctxKey{}, "kept"), func(ctx context.Context, _ bun.IDB) error {
		if ctx.Value(ctxKey{}) != "kept" {
			w.Error("the value is gone")
		}
		return nil
	})
	if err != nil {
		w.Error(err)
	}
}

func endedWhileRunning(w *world) {
	db := w.open()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := db.Write(ctx, func(inner context.Context, tx bun.IDB) error {
		if err := Insert(1, "first")(inner, tx); err != nil {
			return err
		}
		cancel()
		return Insert(2, "second")(inner, tx)
	})
	got := Texts(w.T, db)
	switch {
	case err == nil && slices.Equal(got, []string{"first", "second"}):
	case errors.Is(err, context.Canceled) && len(got) == 0:
	default:
		w.Errorf("rows = %q, err = %v", got, err)
	}
	if err := db.Write(context.Background(), Insert(3, "next")); err != nil {
		w.Errorf("the next write: %v", err)
	}
}

func clock(w *world) {
	db := w.open()
	var inside int64
	err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) (err error) {
		inside, err = db.NowMillis(ctx, tx)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	outside, err := db.NowMillis(context.Background(), db.Read())
	if err != nil || outside < inside {
		w.Errorf("%d, then %d, %v", inside, outside, err)
	}
	const apart = 24 * time.Hour // the clocks of two machines; not the hours of a time zone in ms
	if d := time.Since(time.UnixMilli(inside)); d.Abs() > apart {
		w.Errorf("the database's clock is %s behind", d)
	}
}
