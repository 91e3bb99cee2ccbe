package pacing

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
)

const gap = 2 * time.Second

func gate(gap time.Duration) *Gate { return New(ratelimit.NewMemory(), "engine", gap) }

func TestRequestsKeepTheirDistance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, start := gate(gap), time.Now()
		for i := range 3 {
			if err := g.Wait(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			if at := time.Since(start); at != time.Duration(i)*gap {
				t.Errorf("request %d went out after %s", i, at)
			}
		}
	})
}

func TestATurnBeyondTheDeadlineIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, start := gate(gap), time.Now()
		if err := g.Wait(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		busy, ok := errors.AsType[*BusyError](g.Wait(ctx, time.Minute))
		if !ok || busy.Wait != gap {
			t.Fatalf("got %v, want busy for %s", busy, gap)
		}
		if _, ok := errors.AsType[*BusyError](g.Wait(t.Context(), time.Second)); !ok {
			t.Fatal("waited longer than the longest wait")
		}
		if time.Since(start) != 0 {
			t.Fatal("the refusal took time")
		}
		// The refused turns are free again.
		if err := g.Wait(t.Context(), gap); err != nil {
			t.Fatal(err)
		}
	})
}

func TestACallerWhoLeavesGivesTheTurnBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(gap)
		if err := g.Wait(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Wait(ctx, time.Minute) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if err := g.Wait(t.Context(), gap); err != nil {
			t.Fatalf("the turn was lost: %v", err)
		}
	})
}

func TestNoGap(t *testing.T) {
	g := gate(0)
	for range 100 {
		if err := g.Wait(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
}
