package account

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// in runs a test in a bubble of fake time with one account.
func in(t *testing.T, f func(t *testing.T, a *Account)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, NewSet(time.Now).Of("models.example", "sk-hush")) })
}

func failed(kind provider.Kind, after time.Duration) *provider.Error {
	return &provider.Error{Kind: kind, Message: "The provider says no.", Detail: "no", Status: 429, RetryAfter: after}
}

// call makes a call that ends with an error.
func call(t *testing.T, a *Account, err error) {
	t.Helper()
	c, refused := a.Enter()
	if refused != nil {
		t.Fatalf("the call is refused: %v", refused)
	}
	c.End(err)
}

func TestAFailureOpensTheBreakerForAsLongAsItsKindSays(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		open time.Duration
	}{
		{"no credit left", failed(provider.KindQuota, 0), time.Hour},
		{"no credit left until a time that is told", failed(provider.KindQuota, 3*time.Hour), 3 * time.Hour},
		{"no credit left for a moment only", failed(provider.KindQuota, time.Second), time.Minute},
		{"no credit left for a year", failed(provider.KindQuota, 8760*time.Hour), 24 * time.Hour},
		{"a key that is refused", failed(provider.KindAuth, 0), 5 * time.Minute},
		{"a key that is refused with a wait", failed(provider.KindAuth, time.Hour), 5 * time.Minute},
		{"too fast, with a wait", failed(provider.KindRateLimited, 7*time.Second), 7 * time.Second},
		{"too fast, without a wait", failed(provider.KindRateLimited, 0), 0},
		{"overloaded, with a wait", failed(provider.KindOverloaded, time.Minute), 0},
		{"a server that failed", failed(provider.KindServer, 0), 0},
		{"a bad request", failed(provider.KindBadRequest, 0), 0},
		{"a call that was cancelled", failed(provider.KindCancelled, 0), 0},
		{"an error of our own", errors.New("x"), 0},
		{"none", nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T, a *Account) {
				call(t, a, tc.err)
				if a.Open() != (tc.open > 0) {
					t.Fatalf("open = %v", a.Open())
				}
				if tc.open == 0 {
					return
				}
				time.Sleep(tc.open - time.Second)
				if _, err := a.Enter(); err == nil || err.RetryAfter != time.Second {
					t.Errorf("a second before the end: %+v", err)
				}
				time.Sleep(time.Second)
				if a.Open() {
					t.Error("it is open after its time")
				}
			})
		})
	}
}

func TestARefusedCallRepeatsTheWordsAndTellsWhenTheAccountIsAskedAgain(t *testing.T) {
	in(t, func(t *testing.T, a *Account) {
		cause := failed(provider.KindQuota, 0)
		call(t, a, cause)
		_, err := a.Enter()
		want := "The provider says no. It is not asked again before 2000-01-01 01:00:00 UTC"
		if err.Message != want || err.Kind != provider.KindQuota || err.Detail != "no" || !errors.Is(err, ErrOpen) || err.Retryable() {
			t.Errorf("%+v\nwant %s", err, want)
		}
		if cause.RetryAfter != 0 || cause.Err != nil || cause.Message != "The provider says no." {
			t.Errorf("the error of the provider was changed: %+v", cause)
		}
	})
}

func TestAfterTheWaitExactlyOneCallIsLetThrough(t *testing.T) {
	in(t, func(t *testing.T, a *Account) {
		call(t, a, failed(provider.KindAuth, 0))
		time.Sleep(5 * time.Minute)
		var mu sync.Mutex
		var through []*Call
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				c, err := a.Enter()
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					through = append(through, c)
				} else if !strings.Contains(err.Message, "One call is finding out") || err.RetryAfter != probeWait {
					t.Errorf("%+v", err)
				}
			})
		}
		wg.Wait()
		if len(through) != 1 {
			t.Fatalf("%d calls were let through", len(through))
		}
		through[0].Taken()
		if a.Open() {
			t.Error("the breaker is open although the provider answers")
		}
	})
}

func TestHowTheOneCallEndsDecides(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(c *Call)
		open time.Duration // after it; -1: it is closed
	}{
		{"an answer closes the breaker", func(c *Call) { c.End(nil) }, -1},
		{"the first word of an answer closes it", func(c *Call) { c.Taken(); c.End(failed(provider.KindTruncated, 0)) }, -1},
		{"the same refusal opens it again, for longer", func(c *Call) { c.End(failed(provider.KindQuota, 0)) }, 2 * time.Hour},
		{"another refusal opens it as that does", func(c *Call) { c.End(failed(provider.KindAuth, 0)) }, 5 * time.Minute},
		{"a refusal after the first word opens it anew", func(c *Call) { c.Taken(); c.End(failed(provider.KindQuota, 0)) }, time.Hour},
		{"a failure of another kind leaves it to the next", func(c *Call) { c.End(failed(provider.KindTimeout, 0)) }, 0},
		{"a cancelled one leaves it to the next", func(c *Call) { c.End(context.Canceled) }, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T, a *Account) {
				call(t, a, failed(provider.KindQuota, 0))
				time.Sleep(time.Hour)
				c, _ := a.Enter()
				tc.end(c)
				switch tc.open {
				case -1:
					if _, err := a.Enter(); err != nil {
						t.Errorf("refused: %v", err)
					}
					if _, err := a.Enter(); err != nil {
						t.Errorf("a second call is refused: %v", err)
					}
				case 0:
					if _, err := a.Enter(); err != nil {
						t.Errorf("the next one is refused: %v", err)
					}
					if _, err := a.Enter(); err == nil {
						t.Error("two are let through")
					}
				default:
					if _, err := a.Enter(); err == nil || err.RetryAfter != tc.open {
						t.Errorf("%+v, want a wait of %s", err, tc.open)
					}
				}
			})
		})
	}
}

func TestAQuotaThatStaysIsAskedForAfterTwiceTheTimeUpToTwelveHours(t *testing.T) {
	in(t, func(t *testing.T, a *Account) {
		for _, want := range []time.Duration{1, 2, 4, 8, 12, 12} {
			call(t, a, failed(provider.KindQuota, 0))
			_, err := a.Enter()
			if err == nil || err.RetryAfter != want*time.Hour {
				t.Fatalf("%+v, want %d hours", err, want)
			}
			time.Sleep(err.RetryAfter)
		}
		call(t, a, nil)
		call(t, a, failed(provider.KindQuota, 0))
		if _, err := a.Enter(); err == nil || err.RetryAfter != time.Hour {
			t.Errorf("after an answer: %+v, want an hour", err)
		}
	})
}

func TestWhoeverLookedMayTryAtOnce(t *testing.T) {
	in(t, func(t *testing.T, a *Account) {
		a.TryNow()
		call(t, a, failed(provider.KindQuota, 0))
		a.TryNow()
		c, err := a.Enter()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Enter(); err == nil {
			t.Error("two calls are let through")
		}
		c.End(failed(provider.KindQuota, 0))
		if _, err := a.Enter(); err == nil || err.RetryAfter != 2*time.Hour {
			t.Errorf("%+v, want two hours", err)
		}
	})
}

func TestCallsThatWereBegunBeforeTheBreakerOpened(t *testing.T) {
	for _, tc := range []struct {
		name        string
		first, late error
		open        time.Duration
	}{
		{"an answer does not close it", failed(provider.KindQuota, 0), nil, time.Hour},
		{"the same refusal counts once", failed(provider.KindQuota, 0), failed(provider.KindQuota, 0), time.Hour},
		{"a longer wait is taken", failed(provider.KindRateLimited, time.Second), failed(provider.KindRateLimited, time.Minute), time.Minute},
		{"a shorter wait is not", failed(provider.KindRateLimited, time.Minute), failed(provider.KindRateLimited, time.Second), time.Minute},
		{"a worse refusal is taken", failed(provider.KindRateLimited, time.Minute), failed(provider.KindQuota, 0), time.Hour},
		{"a lesser refusal is not", failed(provider.KindQuota, 0), failed(provider.KindAuth, 0), time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T, a *Account) {
				first, _ := a.Enter()
				late, _ := a.Enter()
				first.End(tc.first)
				late.End(tc.late)
				if _, err := a.Enter(); err == nil || err.RetryAfter != tc.open {
					t.Errorf("%+v, want a wait of %s", err, tc.open)
				}
			})
		})
	}
}

func TestAnAccountIsAKeyAtAHost(t *testing.T) {
	s := NewSet(time.Now)
	a := s.Of("Models.example:8080", "sk-hush ")
	for _, tc := range []struct {
		name, host, key string
		same            bool
	}{
		{"the same", "models.example:8080", "sk-hush", true},
		{"another key", "models.example:8080", "sk-hush2", false},
		{"another port", "models.example", "sk-hush", false},
		{"no key", "models.example:8080", "", false},
	} {
		if got := s.Of(tc.host, tc.key) == a; got != tc.same {
			t.Errorf("%s: the same account = %v", tc.name, got)
		}
	}
	if id := a.ID(); len(id) != 2*idBytes || strings.Contains(id, "hush") {
		t.Errorf("id = %q", id)
	}
	if other := NewSet(time.Now).Of("models.example:8080", "sk-hush"); other.ID() == a.ID() {
		t.Error("the id is the same in another process")
	}
}

func TestWithoutAnAccountEveryCallIsMade(t *testing.T) {
	var a *Account
	c, err := a.Enter()
	c.Taken()
	c.End(failed(provider.KindQuota, 0))
	a.TryNow()
	if _, again := a.Enter(); err != nil || again != nil || a.Open() || a.ID() != "" {
		t.Errorf("%v %v", err, again)
	}
}
