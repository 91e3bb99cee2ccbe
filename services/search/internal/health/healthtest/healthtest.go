// Package healthtest is what every Book does, wherever its records are.
package healthtest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/health"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

const place = "bing from here"

// Run tests two books that share their records, or twice the same one. open makes
// fresh ones; wait lets time pass.
func Run(t *testing.T, open func(*testing.T) (a, b *health.Book), wait func(time.Duration)) {
	t.Helper()
	t.Run("one opens and both know", func(t *testing.T) {
		a, b := open(t)
		end(t, a, outcome.Of(outcome.Challenge))
		for _, book := range []*health.Book{a, b} {
			pass, s, err := book.Admit(t.Context(), place)
			if err != nil || pass != nil || s.Phase != health.Open || s.Reason != outcome.Challenge || time.Until(s.Until) < 7*time.Minute {
				t.Errorf("admitted %t, %+v (%v)", pass != nil, s, err)
			}
		}
		if _, s, _ := b.Admit(t.Context(), "bing from elsewhere"); s.Phase != health.Closed {
			t.Errorf("another network is %+v", s)
		}
	})
	t.Run("exactly one finds out", func(t *testing.T) {
		a, b := open(t)
		end(t, a, outcome.Outcome{Code: outcome.RateLimited, RetryAfter: 50 * time.Millisecond})
		wait(60 * time.Millisecond)
		var passes atomic.Int64
		var first atomic.Pointer[health.Pass]
		var all sync.WaitGroup
		for i := range 64 {
			book := a
			if i%2 == 1 {
				book = b
			}
			all.Go(func() {
				if pass, s, err := book.Admit(t.Context(), place); err != nil {
					t.Error(err)
				} else if pass != nil {
					passes.Add(1)
					first.Store(pass)
				} else if s.Phase != health.HalfOpen {
					t.Errorf("refused when %s", s.Phase)
				}
			})
		}
		all.Wait()
		if n := passes.Load(); n != 1 {
			t.Fatalf("%d were let through", n)
		}
		first.Load().Done(t.Context(), health.Ended{Outcome: outcome.Of(outcome.OK), Took: time.Second})
		for _, book := range []*health.Book{a, b} {
			if pass, s, err := book.Admit(t.Context(), place); err != nil || pass == nil {
				t.Errorf("after an answer: %+v (%v)", s, err)
			}
		}
	})
	t.Run("one that found out nothing lets the next try", func(t *testing.T) {
		for name, ended := range map[string]health.Ended{
			"cancelled":     {Outcome: outcome.Of(outcome.Cancelled)},
			"never sent":    {Outcome: outcome.Of(outcome.Timeout), Unsent: true},
			"nothing found": {Outcome: outcome.Of(outcome.EmptyVerified)},
		} {
			a, b := open(t)
			end(t, a, outcome.Outcome{Code: outcome.RateLimited, RetryAfter: 20 * time.Millisecond})
			wait(30 * time.Millisecond)
			pass, _, err := a.Admit(t.Context(), place)
			if err != nil || pass == nil {
				t.Fatalf("%s: %v", name, err)
			}
			pass.Done(t.Context(), ended)
			if pass, s, err := b.Admit(t.Context(), place); err != nil || pass == nil || s.Phase != health.HalfOpen {
				t.Errorf("%s: then %+v (%v)", name, s, err)
			}
		}
	})
	t.Run("what an engine says about its allowance is known to both", func(t *testing.T) {
		a, b := open(t)
		pass, _, err := a.Admit(t.Context(), place)
		if err != nil || pass == nil {
			t.Fatal(err)
		}
		pass.Done(t.Context(), health.Ended{Outcome: outcome.Of(outcome.OK), Took: 300 * time.Millisecond, Limits: adapter.Limits{
			{Limit: 1, Remaining: 0, Period: time.Second, ResetAfter: time.Second},
			{Limit: 15000, Remaining: 0, Period: 30 * 24 * time.Hour, ResetAfter: 20 * 24 * time.Hour},
		}})
		if r := b.Look(t.Context(), place); r.Latency != 300*time.Millisecond || len(r.Quota.Limits) != 2 {
			t.Errorf("the other knows %+v", r)
		}
		if pass, s, _ := b.Admit(t.Context(), place); pass != nil || s.Reason != outcome.QuotaExhausted || time.Until(s.Until) < 19*24*time.Hour {
			t.Errorf("admitted %t, %+v", pass != nil, s)
		}
	})
	t.Run("a refused key is the matter of the process that has it", func(t *testing.T) {
		a, _ := open(t)
		end(t, a, outcome.Of(outcome.AuthFailed))
		if pass, s, _ := a.Admit(t.Context(), place); pass != nil || s.Reason != outcome.AuthFailed || !s.Until.IsZero() {
			t.Errorf("admitted %t, %+v", pass != nil, s)
		}
	})
}

// end lets a request through that comes to o.
func end(t *testing.T, b *health.Book, o outcome.Outcome) {
	t.Helper()
	pass, s, err := b.Admit(t.Context(), place)
	if err != nil || pass == nil {
		t.Fatalf("not admitted: %+v (%v)", s, err)
	}
	pass.Done(t.Context(), health.Ended{Outcome: o})
}
