package search

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/search/internal/answercache"
)

func TestAnAnswerIsGoodForMinutes(t *testing.T) {
	page := bingPage("tea", "https://tea.example/", "https://leaf.example/")
	cases := []struct {
		name   string
		page   string
		change func(*searchv1.SearchRequest) // of the second search
		after  time.Duration
		cache  string
		asked  int
	}{
		{"at once", page, nil, 0, "HIT", 1},
		{"after nine minutes", page, nil, 9 * time.Minute, "HIT", 1},
		{"after ten minutes", page, nil, 10 * time.Minute, "MISS", 2},
		{"nothing found, at once", nothingPage, nil, 30 * time.Second, "HIT", 1},
		{"nothing found, after a minute", nothingPage, nil, time.Minute, "MISS", 2},
		{"white space does not matter", page, func(r *searchv1.SearchRequest) { r.Query = "  tea " }, 0, "HIT", 1},
		{"another caller's filter of the same request does", page, func(r *searchv1.SearchRequest) { r.BlockedDomains = []string{"leaf.example"} }, 0, "MISS", 2},
		{"asked anew", page, func(r *searchv1.SearchRequest) { r.Cache = "refresh" }, 0, "", 2},
		{"without it", page, func(r *searchv1.SearchRequest) { r.Cache = "off" }, 0, "", 2},
		{"a block is not kept", challengePage, func(r *searchv1.SearchRequest) { r.Query = "tea" }, 11 * time.Minute, "MISS", 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w, end := startInMemory(t, nil)
				defer end()
				w.set("bing", says(200, c.page))
				w.set("duckduckgo", says(200, duckPage("tea", "https://tea.example/")))
				if _, err := s.Search(as(t, "ann"), ask("tea")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.after)
				req := ask("tea")
				if c.change != nil {
					c.change(req)
				}
				got, err := s.Search(as(t, "bob"), req)
				if err != nil || got.Attempts[0].Cache != c.cache || w.times("bing") != c.asked {
					t.Errorf("%q after %d requests (%v)", got.GetAttempts()[0].GetCache(), w.times("bing"), err)
				}
			})
		})
	}
}

func TestWhatIsRefreshedIsKeptAndWhatIsOffIsNot(t *testing.T) {
	for cache, asked := range map[string]int{"refresh": 1, "off": 2} {
		s, w, end := startInMemory(t, nil)
		w.set("bing", says(200, bingPage("tea", "https://tea.example/")))
		req := ask("tea")
		req.Cache = cache
		for _, r := range []*searchv1.SearchRequest{req, ask("tea")} {
			if _, err := s.Search(as(t, "ann"), r); err != nil {
				t.Fatal(err)
			}
		}
		if w.times("bing") != asked {
			t.Errorf("%s: asked %d times, want %d", cache, w.times("bing"), asked)
		}
		end()
	}
}

func TestWhenNobodyAnswersAnAnswerOfTheLastHourIsSaidToBeOne(t *testing.T) {
	cases := []struct {
		name  string
		after time.Duration
		cache string
		stale bool
	}{
		{"of half an hour", 30 * time.Minute, "", true},
		{"of more than an hour", 61 * time.Minute, "", false},
		{"when it must be asked anew", 30 * time.Minute, "refresh", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w, end := startInMemory(t, nil)
				defer end()
				w.set("bing", says(200, bingPage("tea", "https://tea.example/")))
				first, err := s.Search(as(t, "ann"), ask("tea"))
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.after)
				w.set("bing", says(200, challengePage))
				w.set("duckduckgo", says(503, ""))
				req := ask("tea")
				req.Cache = c.cache
				got, err := s.Search(as(t, "ann"), req)
				if !c.stale {
					if rpcerr.Reason(err) != "CHALLENGE" {
						t.Errorf("got %v (%v)", got, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if !got.Stale || trail(got) != "bing=CHALLENGE duckduckgo=UPSTREAM_5XX bing=OK" || got.Attempts[2].Cache != "STALE" || found(got) != "tea" || got.AnsweredAt != first.AnsweredAt {
					t.Errorf("stale %t, %s of %s", got.Stale, trail(got), got.AnsweredAt)
				}
				if !strings.Contains(got.Markdown, "nobody answered now; this is an answer of 30 minutes ago") {
					t.Errorf("the model reads %q", got.Markdown)
				}
			})
		})
	}
}

func TestAnotherEnginesAnswerOfNowIsBetterThanAnOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		w.set("bing", says(200, bingPage("tea", "https://old.example/")))
		if _, err := s.Search(as(t, "ann"), ask("tea")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		w.set("bing", says(200, challengePage))
		w.set("duckduckgo", says(200, duckPage("tea", "https://new.example/")))
		if got, err := s.Search(as(t, "ann"), ask("tea")); err != nil || got.Stale || found(got) != "new" {
			t.Errorf("stale %t: %s (%v)", got.GetStale(), found(got), err)
		}
	})
}

func TestWhoAsksTheSameAtTheSameTimeAsksOnceAndPaysOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		answer := braveAnswer("tea", []string{"https://tea.example/"})
		w.set("brave", func(to http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			answer(to, r)
		})
		var mu sync.Mutex
		cost := 0.0
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				req := ask("tea")
				req.Provider = "brave_web"
				got, err := s.Search(as(t, "ann"), req)
				if err != nil || found(got) != "tea" {
					t.Errorf("%s (%v)", found(got), err)
				}
				mu.Lock()
				defer mu.Unlock()
				cost += got.GetCostUsd()
			})
		}
		all.Wait()
		if w.times("brave") != 1 || cost != 0.005 {
			t.Errorf("64 callers asked %d times for %g USD", w.times("brave"), cost)
		}
		req := ask("tea")
		req.Provider = "brave_web"
		if got, err := s.Search(as(t, "ann"), req); err != nil || got.CostUsd != 0 || got.Attempts[0].Cache != "HIT" {
			t.Errorf("an answer that is kept costs %g USD (%v)", got.GetCostUsd(), err)
		}
	})
}

func TestAQuestionEndsWithTheLastWhoWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		gone := make(chan struct{})
		w.set("bing", func(to http.ResponseWriter, r *http.Request) {
			silent(to, r)
			close(gone)
		})
		first, leaveFirst := context.WithCancel(as(t, "ann"))
		second, leaveSecond := context.WithCancel(as(t, "bob"))
		var all sync.WaitGroup
		for _, ctx := range []context.Context{first, second} {
			all.Go(func() {
				if _, err := s.Search(ctx, ask("tea")); rpcerr.From(err).Code() != codes.Canceled {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		leaveFirst()
		synctest.Wait()
		select {
		case <-gone:
			t.Fatal("it ended with the first")
		default:
		}
		leaveSecond()
		all.Wait()
		<-gone
		if w.times("bing") != 1 || w.times("duckduckgo") != 0 {
			t.Errorf("bing was asked %d times, duckduckgo %d times", w.times("bing"), w.times("duckduckgo"))
		}
		if p, _ := s.ListProviders(as(t, "ann"), nil); p.Providers[0].Health.State != "closed" || len(s.health.Look(t.Context(), s.engines["bing"].place).Breaker.Samples) != 0 {
			t.Error("callers who leave count against the engine")
		}
	})
}

// TestAQuestionThatWasAnsweredAMomentAgoIsNotPutAgain looks into the cache just
// before the answer of an equal question comes.
func TestAQuestionThatWasAnsweredAMomentAgoIsNotPutAgain(t *testing.T) {
	s, w, end := startInMemory(t, func(c *Config) { c.Adapter = "bing" })
	defer end()
	w.set("bing", says(200, bingPage("tea guide", "https://tea.example/")))
	late := &lateCache{Cache: cache.NewMemory(1 << 20)}
	s.answers = answercache.New(late)
	if _, err := s.Search(as(t, "ann"), ask("tea guide")); err != nil {
		t.Fatal(err)
	}
	late.misses = 1
	got, err := s.Search(as(t, "ann"), ask("tea guide"))
	if err != nil || found(got) != "tea" || got.Attempts[0].Cache != "HIT" || w.times("bing") != 1 {
		t.Errorf("%v after %d questions (%v)", got.GetAttempts(), w.times("bing"), err)
	}
}

// lateCache does not yet find what is asked of it.
type lateCache struct {
	cache.Cache
	misses int
}

func (c *lateCache) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if c.misses > 0 {
		c.misses--
		return nil, false, nil
	}
	return c.Cache.Get(ctx, key)
}
