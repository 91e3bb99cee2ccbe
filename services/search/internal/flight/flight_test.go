package flight

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEqualCallsAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		var made, joined atomic.Int64
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				v, with, err := g.Do(t.Context(), "k", func(context.Context) int {
					made.Add(1)
					time.Sleep(time.Second)
					return 7
				})
				if v != 7 || err != nil {
					t.Errorf("got %d (%v)", v, err)
				}
				if with {
					joined.Add(1)
				}
			})
		}
		all.Wait()
		if made.Load() != 1 || joined.Load() != 63 {
			t.Errorf("made %d times, joined %d times", made.Load(), joined.Load())
		}
		if v, with, _ := g.Do(t.Context(), "k", func(context.Context) int { return 8 }); v != 8 || with {
			t.Errorf("afterwards: %d, joined %t", v, with)
		}
	})
}

func TestOtherKeysAreOtherCalls(t *testing.T) {
	var g Group[string]
	for _, key := range []string{"a", "b"} {
		if v, _, _ := g.Do(t.Context(), key, func(context.Context) string { return key }); v != key {
			t.Errorf("%s got %s", key, v)
		}
	}
}

func TestACallGoesOnForThoseWhoStayAndEndsWithTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[error]
		ended := make(chan error, 1)
		call := func(ctx context.Context) error {
			_, _, err := g.Do(ctx, "k", func(ctx context.Context) error {
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return nil
			})
			return err
		}
		leave := errors.New("left")
		first, leaveFirst := context.WithCancelCause(t.Context())
		second, leaveSecond := context.WithTimeoutCause(t.Context(), time.Minute, leave)
		defer leaveSecond()
		var all sync.WaitGroup
		for _, ctx := range []context.Context{first, second} {
			all.Go(func() {
				if err := call(ctx); !errors.Is(err, leave) {
					t.Errorf("got %v", err)
				}
			})
			synctest.Wait()
		}
		leaveFirst(leave)
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("the call ended with the first one")
		default:
		}
		all.Wait()
		if cause := <-ended; !errors.Is(cause, leave) {
			t.Errorf("the call ended for %v", cause)
		}
		g.Wait()
	})
}

func TestWhoComesAfterTheLastHasLeftStartsAfresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		stuck := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _, _ = g.Do(ctx, "k", func(context.Context) int { <-stuck; return 1 })
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if v, joined, err := g.Do(t.Context(), "k", func(context.Context) int { return 2 }); v != 2 || joined || err != nil {
			t.Errorf("got %d, joined %t (%v)", v, joined, err)
		}
		close(stuck)
		g.Wait()
	})
}
