package search

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestWhatIsKnownIsToldWithinTheCallersTime(t *testing.T) {
	const minute = time.Minute
	tea := func(name string) http.HandlerFunc { return braveAnswer("tea guide", addressesOf(name)) }
	cases := []struct {
		name        string
		request     *searchv1.SearchRequest
		bing, brave http.HandlerFunc
		time        time.Duration
		found       string // or
		reason      string
		trail       string
		told        string
	}{
		{"a silent engine leaves time for the next", single("bing", "brave_web"), silent, tea("a"), 3 * time.Second, "a", "", "bing=TIMEOUT brave_web=OK", "bing was asked first and did not answer (TIMEOUT)"},
		{"however little there is", single("bing", "brave_web"), silent, tea("a"), 50 * time.Millisecond, "a", "", "bing=TIMEOUT brave_web=OK", ""},
		{"the last one has all that is left", single("brave_web", "bing"), after(2500*time.Millisecond, says(200, bingPage("tea guide", "https://a.example/"))), says(503, "{}"), 3 * time.Second, "a", "", "brave_web=UPSTREAM_5XX bing=OK", ""},
		{"all are silent", single("bing", "brave_web"), silent, silent, 3 * time.Second, "", "TIMEOUT", "bing=TIMEOUT, brave_web=TIMEOUT", ""},
		{"with time enough an attempt has its own limit", single("bing", "brave_web"), silent, silent, minute, "", "TIMEOUT", "bing=TIMEOUT, brave_web=TIMEOUT", ""},
		{"of several the one that answered is told", fusedOf("bing", "brave_web"), silent, tea("a"), 2 * time.Second, "a", "", "bing=TIMEOUT brave_web=OK", "bing was asked too and did not answer (TIMEOUT)"},
		{"of several all are silent", fusedOf("bing", "brave_web"), silent, silent, 2 * time.Second, "", "TIMEOUT", "bing=TIMEOUT, brave_web=TIMEOUT", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w, end := startInMemory(t, nil)
				defer end()
				w.set("bing", c.bing)
				w.set("brave", c.brave)
				start := time.Now()
				ctx, cancel := context.WithTimeout(as(t, "ann"), c.time)
				defer cancel()
				got, err := s.Search(ctx, c.request)
				if took := time.Since(start); took >= min(c.time, 2*s.cfg.AttemptTimeout+time.Second) || ctx.Err() != nil {
					t.Errorf("told after %s of %s", took, c.time)
				}
				if c.reason != "" {
					if made := attemptsOf(err); rpcerr.Reason(err) != c.reason || made != c.trail {
						t.Errorf("got %v of %s", err, made)
					}
					return
				}
				if err != nil || found(got) != c.found || trail(got) != c.trail || !strings.Contains(got.Markdown, c.told) {
					t.Errorf("%s of %s (%v)\n%s", found(got), trail(got), err, got.GetMarkdown())
				}
			})
		})
	}
}

func TestASilentEngineEndsWithItsAttemptAndTheNextIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, func(c *Config) { c.AttemptTimeout = 2 * time.Second })
		defer end()
		w.set("bing", silent)
		w.set("duckduckgo", says(200, duckPage("tea", "https://tea.example/")))
		start := time.Now()
		got, err := s.Search(as(t, "ann"), ask("tea")) // who sets no deadline is not kept for ever
		if err != nil || trail(got) != "bing=TIMEOUT duckduckgo=OK" {
			t.Errorf("attempts %s (%v)", trail(got), err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestAnOldAnswerIsGivenBeforeTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		w.set("bing", says(200, bingPage("tea", "https://tea.example/")))
		if _, err := s.Search(as(t, "ann"), ask("tea")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		w.set("bing", silent)
		w.set("duckduckgo", silent)
		ctx, cancel := context.WithTimeout(as(t, "ann"), 4*time.Second)
		defer cancel()
		got, err := s.Search(ctx, ask("tea"))
		if err != nil || !got.Stale || trail(got) != "bing=TIMEOUT duckduckgo=TIMEOUT bing=OK" || ctx.Err() != nil {
			t.Errorf("stale %t: %s (%v)", got.GetStale(), trail(got), err)
		}
	})
}

// TestWhoHasMoreTimeWaitsLonger has two callers with one question, of whom the
// first has no time to wait for the engine's turn.
func TestWhoHasMoreTimeWaitsLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, func(c *Config) {
			c.Adapter = "bing"
			c.Bing.MinGap = 3 * time.Second
		}, func(d *Deps) { d.Limiter = farAway{ratelimit.NewMemory()} })
		defer end()
		w.set("bing", says(200, bingPage("tea", "https://tea.example/")))
		if _, err := s.Search(as(t, "ann"), ask("tea")); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		short, cancel := context.WithTimeout(as(t, "ann"), time.Second)
		defer cancel()
		req := ask("tea")
		req.Cache = "refresh"
		all.Go(func() {
			if _, err := s.Search(short, req); rpcerr.Reason(err) != "RATE_LIMITED" {
				t.Errorf("who had a second got %v", err)
			}
		})
		synctest.Wait()
		for range 8 {
			all.Go(func() {
				if got, err := s.Search(as(t, "bob"), req); err != nil || found(got) != "tea" {
					t.Errorf("who had time got %v (%v)", got, err)
				}
			})
		}
		all.Wait()
		if n := w.times("bing"); n != 2 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestTheTimeOfTheFirstIsNotThatOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, func(c *Config) { c.Adapter = "bing" })
		defer end()
		w.set("bing", after(3*time.Second, says(200, bingPage("tea", "https://tea.example/"))))
		short, cancel := context.WithTimeout(as(t, "ann"), time.Second)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := s.Search(short, ask("tea")); rpcerr.Reason(err) != "TIMEOUT" {
				t.Errorf("the first got %v", err)
			}
		})
		synctest.Wait()
		for range 8 {
			all.Go(func() {
				if got, err := s.Search(as(t, "bob"), ask("tea")); err != nil || found(got) != "tea" {
					t.Errorf("another got %v (%v)", got, err)
				}
			})
		}
		all.Wait()
		if n := w.times("bing"); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// farAway is a limiter that takes a while to tell when an engine may be asked.
type farAway struct{ ratelimit.Limiter }

func (l farAway) Take(ctx context.Context, key string, limit ratelimit.Limit, longest time.Duration) (ratelimit.Turn, error) {
	if strings.HasPrefix(key, "search/engine/") {
		time.Sleep(10 * time.Millisecond)
	}
	return l.Limiter.Take(ctx, key, limit, longest)
}

// attemptsOf are the attempts that an error names.
func attemptsOf(err error) string {
	for _, d := range rpcerr.From(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetMetadata()["attempts"]
		}
	}
	return ""
}

func single(providers ...string) *searchv1.SearchRequest {
	return &searchv1.SearchRequest{Query: "tea guide", Providers: providers}
}

// after answers with h once d is over, unless the caller leaves.
func after(d time.Duration, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			h(w, r)
		case <-r.Context().Done():
		}
	}
}
