package search

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestAnEngineThatBlocksIsLeftAloneAndThenAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		w.set("bing", says(200, challengePage))
		w.set("duckduckgo", says(200, duckPage("tea guide", "https://tea.example/")))
		search := func(query string) *searchv1.SearchResponse {
			t.Helper()
			got, err := s.Search(as(t, "ann"), ask(query))
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := trail(search("tea guide one")); got != "bing=CHALLENGE duckduckgo=OK" {
			t.Fatal(got)
		}
		got := search("tea guide two")
		first := got.GetAttempts()[0]
		if !first.GetSkipped() || first.GetOutcome() != "CHALLENGE" || first.GetRetryAfterSeconds() < 440 || first.GetRetryAfterSeconds() > 600 || w.times("bing") != 1 {
			t.Errorf("asked %d times: %v", w.times("bing"), first)
		}
		if !strings.Contains(got.GetMarkdown(), "Note: bing was not asked: it is left alone after CHALLENGE") {
			t.Errorf("the model reads %q", got.GetMarkdown())
		}
		if span := got.GetAttempts()[1]; span.GetSkipped() {
			t.Errorf("%v", span)
		}
		time.Sleep(10 * time.Minute)
		w.set("bing", says(200, bingPage("tea guide", "https://tea.example/")))
		for range 3 {
			if got := search("tea guide three"); trail(got) != "bing=OK" {
				t.Errorf("afterwards %s", trail(got))
			}
		}
	})
}

func TestANamedEngineIsNotAskedThroughItsBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		w.set("bing", says(200, challengePage))
		for range 5 {
			req := ask("tea guide")
			req.Provider = "bing"
			_, err := s.Search(as(t, "ann"), req)
			if rpcerr.Reason(err) != "CHALLENGE" {
				t.Fatalf("got %v", err)
			}
			if wait, ok := rpcerr.RetryDelay(err); w.times("bing") == 1 && ok && wait > 10*time.Minute {
				t.Errorf("retry after %s", wait)
			}
		}
		if w.times("bing") != 1 {
			t.Errorf("asked %d times", w.times("bing"))
		}
	})
}

func TestARefusedKeyIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, func(c *Config) { c.Policy = map[string][]string{"*": {"tavily", "bing"}} })
		defer end()
		w.set("tavily", says(401, "{}"))
		w.set("bing", says(200, bingPage("tea", "https://tea.example/")))
		for i := range 3 {
			got, err := s.Search(as(t, "ann"), ask("tea"))
			if err != nil || trail(got) != "tavily=AUTH_FAILED bing=OK" || got.Attempts[0].GetSkipped() != (i > 0) {
				t.Fatalf("search %d: %v (%v)", i+1, got.GetAttempts(), err)
			}
			time.Sleep(24 * time.Hour)
		}
		if w.times("tavily") != 1 {
			t.Errorf("asked %d times", w.times("tavily"))
		}
	})
}

func TestAnAllowanceIsReadFromTheHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, func(c *Config) { c.Policy = map[string][]string{"*": {"brave_web", "bing"}} })
		defer end()
		w.set("brave", braveAnswer("tea", []string{"https://tea.example/"}, limits(0, 2)...))
		w.set("bing", says(200, bingPage("tea", "https://leaf.example/")))
		for i, query := range []string{"tea one", "tea two"} {
			start := time.Now()
			if i == 1 {
				w.set("brave", braveAnswer("tea", []string{"https://tea.example/"}, limits(0, 0)...))
			}
			got, err := s.Search(as(t, "ann"), ask(query))
			if err != nil || trail(got) != "brave_web=OK" || got.GetCostUsd() != 0.005 {
				t.Fatalf("%s for %g USD (%v)", trail(got), got.GetCostUsd(), err)
			}
			if waited := time.Since(start); (i == 1) != (waited >= time.Second) || waited > 2*time.Second {
				t.Errorf("search %d waited %s for the second to pass", i+1, waited)
			}
		}
		got, err := s.Search(as(t, "ann"), ask("tea three"))
		if err != nil || trail(got) != "brave_web=QUOTA_EXHAUSTED bing=OK" || !got.Attempts[0].GetSkipped() || got.Attempts[0].GetRetryAfterSeconds() < 1419000 || got.GetCostUsd() != 0 {
			t.Errorf("once the month is used up: %v (%v)", got.GetAttempts(), err)
		}
		list, err := s.ListProviders(as(t, "ann"), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := list.Providers[0]
		if p.Name != "brave_web" || p.Position != 1 || p.Health.State != "open" || p.Health.Reason != "QUOTA_EXHAUSTED" || len(p.Limits) != 2 || p.Limits[1].GetRemaining() != 0 || p.Limits[1].Limit != 15000 || p.Limits[1].PeriodSeconds != 2592000 {
			t.Errorf("the list says %v", p)
		}
		time.Sleep(17 * 24 * time.Hour)
		w.set("brave", braveAnswer("tea", []string{"https://tea.example/"}, limits(0, 15000)...))
		if got, err := s.Search(as(t, "ann"), ask("tea four")); err != nil || trail(got) != "brave_web=OK" {
			t.Errorf("in the next month: %s (%v)", trail(got), err)
		}
	})
}

func TestReplicasKnowOfEachOthersBlocksUnlessTheyLeaveElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, limiter := cache.NewMemory(1<<20), ratelimit.NewMemory()
		replica := func(egress string) (*Service, *web, func()) {
			return startInMemory(t, func(c *Config) { c.Egress = egress }, func(d *Deps) { d.Cache, d.Limiter = shared, limiter })
		}
		a, atA, endA := replica("east")
		defer endA()
		b, atB, endB := replica("east")
		defer endB()
		c, atC, endC := replica("west")
		defer endC()
		for _, w := range []*web{atA, atB, atC} {
			w.set("bing", says(200, challengePage))
			w.set("duckduckgo", says(200, duckPage("tea", "https://tea.example/")))
		}
		for i, s := range []*Service{a, b, c} {
			if _, err := s.Search(as(t, "ann"), ask([]string{"tea a", "tea b", "tea c"}[i])); err != nil {
				t.Fatal(err)
			}
		}
		if atA.times("bing") != 1 || atB.times("bing") != 0 || atC.times("bing") != 1 {
			t.Errorf("asked %d, %d and %d times", atA.times("bing"), atB.times("bing"), atC.times("bing"))
		}
	})
}

// TestAnotherKeyIsAnotherAccount has services one after the other that share what
// they know, as one that is started again with another configuration does.
func TestAnotherKeyIsAnotherAccount(t *testing.T) {
	shared, limiter := cache.NewMemory(1<<20), ratelimit.NewMemory()
	usedUp := says(432, "{}")
	answers := says(200, `{"query":"tea","results":[{"title":"tea","url":"https://tea.example/","content":"Tea.","score":1}]}`)
	for _, c := range []struct {
		name, key, query string
		tavily           http.HandlerFunc
		reason           string
		asked            int
	}{
		{"a plan is used up", "OLD-KEY", "tea one", usedUp, "QUOTA_EXHAUSTED", 1},
		{"its key is not used again", "OLD-KEY", "tea two", answers, "QUOTA_EXHAUSTED", 0},
		{"another key is", "NEW-KEY", "tea three", answers, "", 1},
		{"what was answered to one key is kept for all", "NEWER-KEY", "tea three", answers, "", 0},
	} {
		s, w, end := startInMemory(t, func(to *Config) { to.Adapter, to.Tavily.APIKey = "tavily", config.Secret(c.key) },
			func(d *Deps) { d.Cache, d.Limiter = shared, limiter })
		w.set("tavily", c.tavily)
		if _, err := s.Search(as(t, "ann"), ask(c.query)); rpcerr.Reason(err) != c.reason || w.times("tavily") != c.asked {
			t.Errorf("%s: asked %d times (%v)", c.name, w.times("tavily"), err)
		}
		if place := s.engines["tavily"].place; strings.Contains(place, c.key) {
			t.Errorf("the key is in %q", place)
		}
		end()
	}
}

func TestTheListHasTheOrderInWhichEnginesAreAskedNow(t *testing.T) {
	s, w, end := startInMemory(t, func(c *Config) { c.Policy = nil })
	defer end()
	w.set("brave", says(401, "{}"))
	w.set("tavily", says(200, `{"query":"tea","results":[{"title":"tea","url":"https://tea.example/","content":"Tea.","score":1}]}`))
	for i, want := range []string{"brave_llm brave_web tavily bing duckduckgo", "tavily brave_llm brave_web bing duckduckgo"} {
		list, err := s.ListProviders(as(t, "ann"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for _, p := range list.Providers {
			if p.Position > 0 {
				listed = append(listed, p.Name)
			}
		}
		got, err := s.Search(as(t, "ann"), ask(fmt.Sprint("tea ", i)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(listed, " ") != want || got.Attempts[0].Provider != listed[0] {
			t.Errorf("listed are %v; asked was %s", listed, trail(got))
		}
	}
}

func TestTheProvidersAreListedWithoutTheirKeys(t *testing.T) {
	s, _, end := startInMemory(t, func(c *Config) { c.Bocha.APIKey = "BOCHA-KEY" })
	defer end()
	list, err := s.ListProviders(as(t, "ann"), &searchv1.ListProvidersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if text := list.String(); strings.Contains(text, "-KEY") || strings.Contains(text, ".test") {
		t.Error("keys or private addresses are told")
	}
	byName := map[string]*searchv1.SearchProvider{}
	for _, p := range list.Providers {
		byName[p.Name] = p
	}
	if len(byName) != 11 || list.Providers[0].Name != "bing" || list.Providers[1].Name != "duckduckgo" {
		t.Fatalf("%d providers, first %v", len(byName), list.Providers[0])
	}
	if p := byName["bocha"]; !p.Configured || !p.NeedsKey || !p.KeyPresent || p.Position != 0 || p.CostUsd <= 0 {
		t.Errorf("bocha is %v", p)
	}
	if p := byName["zhipu"]; p.Configured || p.KeyPresent || !strings.Contains(p.Missing, "search.zhipu.api_key") {
		t.Errorf("zhipu is %v", p)
	}
	if c := byName["bing"].Capabilities; !c.Scraped || c.MaxPage < 2 || !c.DateRange || strings.Join(c.Freshness, " ") != "day week month" || strings.Join(c.SafeSearch, " ") != "off moderate strict" ||
		strings.Join(c.Options, " ") != "max_results page allowed_domains blocked_domains freshness language region safe_search news" {
		t.Errorf("bing can %v", c)
	}
	if _, err := s.ListProviders(t.Context(), nil); err == nil {
		t.Error("told to nobody in particular")
	}
}

func TestAnAdapterThatPanicsIsAnAnswerThatCannotBeRead(t *testing.T) {
	s, w, end := startInMemory(t, nil)
	defer end()
	s.engines["bing"].Adapter = panicking{s.engines["bing"].Adapter}
	w.set("bing", says(200, nothingPage))
	w.set("duckduckgo", says(200, duckPage("tea", "https://tea.example/")))
	got, err := s.Search(as(t, "ann"), ask("tea"))
	if err != nil || trail(got) != "bing=LAYOUT_UNRECOGNISED duckduckgo=OK" {
		t.Errorf("%s (%v)", trail(got), err)
	}
}

// panicking is an adapter with a fault.
type panicking struct{ adapter.Adapter }

func (panicking) Parse(adapter.Response) (adapter.Page, outcome.Outcome) { panic("a fault") }
