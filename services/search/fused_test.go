package search

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func fusedOf(providers ...string) *searchv1.SearchRequest {
	return &searchv1.SearchRequest{Query: "tea guide", Mode: "fused", Providers: providers}
}

func addressesOf(names ...string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "https://" + n + ".example/"
	}
	return out
}

func TestIndependentEnginesAreAskedAtOnceAndMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, func(c *Config) {
			c.Policy = map[string][]string{"*": {"bing", "duckduckgo", "brave_web", "tavily", "baidu"}}
		})
		defer end()
		w.set("bing", says(200, bingPage("tea guide", addressesOf("a", "b", "c")...)))
		w.set("duckduckgo", says(200, duckPage("tea guide", addressesOf("x", "y")...)))
		w.set("brave", braveAnswer("tea guide", addressesOf("b", "d")))
		w.set("tavily", says(200, `{"results":[{"title":"tea guide","url":"https://d.example/","content":"About tea guide."}]}`))
		var first string
		for range 100 {
			req := fusedOf()
			req.Cache = "off"
			got, err := s.Search(as(t, "ann"), req)
			if err != nil {
				t.Fatal(err)
			}
			if found(got) != "b d a c" || trail(got) != "bing=OK brave_web=OK tavily=OK" || got.Outcome != "OK" {
				t.Fatalf("%s of %s", found(got), trail(got))
			}
			for _, a := range got.Attempts {
				a.LatencyMs = 0
			}
			got.AnsweredAt = ""
			if text := fmt.Sprint(got.Results, got.Attempts, got.Markdown); first == "" {
				first = text
			} else if text != first {
				t.Fatalf("first\n%s\nthen\n%s", first, text)
			}
		}
		if w.times("duckduckgo") != 0 || w.times("baidu") != 0 {
			t.Error("a second engine of a family, or a fourth family, was asked")
		}
		req := fusedOf()
		got, err := s.Search(as(t, "ann"), req)
		if err != nil {
			t.Fatal(err)
		}
		b := got.Results[0]
		if len(b.Sources) != 2 || b.Sources[0].Provider != "brave_web" || b.Sources[0].Family != "brave" || b.Sources[0].Rank != 1 || b.Sources[1].Provider != "bing" || b.Source != "brave_web" || b.Language != "en" || b.PublishedAt == "" {
			t.Errorf("the first result is %v", b)
		}
		if !strings.Contains(got.Markdown, "1. [tea guide](https://b.example/) (brave_web, bing, 2025-07-12, en)\n") || !strings.HasPrefix(got.Markdown, "Results from bing and brave_web and tavily for \"tea guide\".") {
			t.Errorf("the model reads %s", got.Markdown)
		}
	})
}

func TestTheQuickDoNotWaitForTheSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		w.set("bing", says(200, bingPage("tea guide", addressesOf("a")...)))
		w.set("brave", silent)
		start := time.Now()
		got, err := s.Search(as(t, "ann"), fusedOf("brave_web", "bing"))
		if err != nil || found(got) != "a" || time.Since(start) != 2500*time.Millisecond {
			t.Fatalf("%s after %s (%v)", found(got), time.Since(start), err)
		}
		late := got.Attempts[0]
		if late.Provider != "brave_web" || late.Outcome != "CANCELLED" || late.Skipped || !strings.Contains(late.Detail, "had not answered") {
			t.Errorf("the slow one is %v", late)
		}
		for _, note := range []string{"brave_web was asked too and did not answer (CANCELLED)", "nothing here is confirmed by another"} {
			if !strings.Contains(got.Markdown, note) {
				t.Errorf("the model does not read %q: %s", note, got.Markdown)
			}
		}
		if st := s.health.Look(t.Context(), s.engines["brave_web"].place); len(st.Breaker.Samples) != 0 {
			t.Error("being late counts against the engine")
		}
	})
}

func TestWhenAllAreSlowTheFirstIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		slowly := says(200, bingPage("tea guide", addressesOf("a")...))
		w.set("bing", func(to http.ResponseWriter, r *http.Request) {
			time.Sleep(4 * time.Second)
			slowly(to, r)
		})
		w.set("brave", silent)
		start := time.Now()
		got, err := s.Search(as(t, "ann"), fusedOf("bing", "brave_web"))
		if err != nil || found(got) != "a" || time.Since(start) != 4*time.Second {
			t.Errorf("%s after %s (%v)", found(got), time.Since(start), err)
		}
	})
}

func TestWhatAMergeOfSeveralComesTo(t *testing.T) {
	tea := bingPage("tea guide", addressesOf("a", "b")...)
	brave := func(names ...string) func(http.ResponseWriter, *http.Request) {
		return braveAnswer("tea guide", addressesOf(names...))
	}
	cases := []struct {
		name        string
		bing, brave func(http.ResponseWriter, *http.Request)
		change      func(*searchv1.SearchRequest)
		outcome     string // or
		reason      string
		found       string
		trail       string
	}{
		{"both answer", says(200, tea), brave("b"), nil, "OK", "", "b a", "bing=OK brave_web=OK"},
		{"one is blocked", says(200, challengePage), brave("b"), nil, "OK", "", "b", "bing=CHALLENGE brave_web=OK"},
		{"one finds nothing", says(200, nothingPage), brave("b"), nil, "OK", "", "b", "bing=EMPTY_VERIFIED brave_web=OK"},
		{"both find nothing", says(200, nothingPage), brave(), nil, "EMPTY_VERIFIED", "", "", "bing=EMPTY_VERIFIED brave_web=EMPTY_VERIFIED"},
		{"nobody answers", says(200, challengePage), says(503, "{}"), nil, "", "CHALLENGE", "", ""},
		{"results of another query stay out", says(200, strings.ReplaceAll(spelledPage, "tea ceremony", "tea guide book")), brave("b"), nil, "OK", "", "b", "bing=OK_ALTERED_QUERY brave_web=OK"},
		{"all searched for the same other query", says(200, strings.ReplaceAll(spelledPage, "tea ceremony", "tea guide book")), says(503, "{}"), nil, "OK_ALTERED_QUERY", "", "ceremony", "bing=OK_ALTERED_QUERY brave_web=UPSTREAM_5XX"},
		{"the filter is applied to both", says(200, tea), brave("b", "d"), func(r *searchv1.SearchRequest) { r.BlockedDomains = []string{"b.example"} }, "OK", "", "a d", "bing=OK brave_web=OK"},
		{"no more than asked for", says(200, tea), brave("c", "d"), func(r *searchv1.SearchRequest) { n := int32(2); r.MaxResults = &n }, "OK", "", "a c", "bing=OK brave_web=OK"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, w, end := startInMemory(t, nil)
			defer end()
			w.set("bing", c.bing)
			w.set("brave", c.brave)
			req := fusedOf("bing", "brave_web")
			if c.change != nil {
				c.change(req)
			}
			got, err := s.Search(as(t, "ann"), req)
			if c.reason != "" {
				if rpcerr.Reason(err) != c.reason {
					t.Errorf("got %v (%v)", got, err)
				}
				return
			}
			if err != nil || got.Outcome != c.outcome || found(got) != c.found || trail(got) != c.trail {
				t.Errorf("%s with %q of %s (%v)", got.GetOutcome(), found(got), trail(got), err)
			}
		})
	}
}

func TestAFamilyWhoseFirstEngineIsBlockedIsAskedThroughItsSecond(t *testing.T) {
	s, w, end := startInMemory(t, func(c *Config) { c.Policy = map[string][]string{"*": {"bing", "duckduckgo", "brave_web"}} })
	defer end()
	w.set("bing", says(200, challengePage))
	w.set("duckduckgo", says(200, duckPage("tea guide", addressesOf("a")...)))
	w.set("brave", braveAnswer("tea guide", addressesOf("a")))
	got, err := s.Search(as(t, "ann"), fusedOf())
	if err != nil || trail(got) != "bing=CHALLENGE duckduckgo=OK brave_web=OK" || len(got.Results[0].GetSources()) != 2 {
		t.Errorf("%s (%v)", trail(got), err)
	}
}

func TestInPlaceOfAFamilyThatFailedTheNextIsAsked(t *testing.T) {
	policy := []string{"bing", "duckduckgo", "brave_web", "tavily", "bocha", "baidu"}
	blocked := says(200, challengePage)
	for _, c := range []struct {
		name   string
		change func(w *web)
		asked  string // in the order of the lanes
		found  bool
	}{
		{"both engines of the first family are blocked", func(w *web) {
			w.set("bing", blocked)
			w.set("duckduckgo", blocked)
		}, "bing=CHALLENGE duckduckgo=CHALLENGE bocha=OK brave_web=OK tavily=OK", true},
		{"one engine of it answers", func(w *web) { w.set("bing", blocked) }, "bing=CHALLENGE duckduckgo=OK brave_web=OK tavily=OK", true},
		{"nobody answers", func(w *web) {
			for _, name := range []string{"bing", "duckduckgo", "baidu"} {
				w.set(name, blocked)
			}
			for _, name := range []string{"brave", "tavily", "bocha"} {
				w.set(name, says(500, ""))
			}
		}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w, end := startInMemory(t, func(c *Config) {
					c.Policy, c.Bocha = map[string][]string{"*": policy}, KeyedConfig{EngineConfig{BaseURL: "http://bocha.test"}, "BOCHA-KEY"}
				})
				defer end()
				w.set("bing", says(200, bingPage("tea guide", addressesOf("a")...)))
				w.set("duckduckgo", says(200, duckPage("tea guide", addressesOf("a")...)))
				w.set("brave", braveAnswer("tea guide", addressesOf("a")))
				w.set("tavily", says(200, `{"results":[{"title":"tea guide","url":"https://a.example/","content":"About tea guide."}]}`))
				w.set("bocha", says(200, `{"code":200,"data":{"webPages":{"value":[{"name":"tea guide","url":"https://a.example/","snippet":"About tea guide."}]}}}`))
				c.change(w)
				got, err := s.Search(as(t, "ann"), fusedOf())
				if (err == nil) != c.found || c.found && trail(got) != c.asked {
					t.Fatalf("%s (%v), want %s", trail(got), err, c.asked)
				}
				if c.found {
					return
				}
				for _, name := range []string{"bing", "duckduckgo", "brave", "tavily", "bocha", "baidu"} {
					if w.times(name) != 1 {
						t.Errorf("%s was asked %d times", name, w.times(name))
					}
				}
			})
		})
	}
}

func TestOneDomainDoesNotFillAMergeUnlessItIsAskedFor(t *testing.T) {
	many := []string{"https://flood.example/1", "https://flood.example/2", "https://flood.example/3", "https://flood.example/4", "https://a.example/", "https://b.example/", "https://c.example/"}
	for _, allowed := range [][]string{nil, {"flood.example"}} {
		s, w, end := startInMemory(t, nil)
		w.set("bing", says(200, bingPage("tea guide", many...)))
		w.set("brave", braveAnswer("tea guide", addressesOf("d")))
		req := fusedOf("bing", "brave_web")
		req.AllowedDomains = allowed
		got, err := s.Search(as(t, "ann"), req)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, r := range got.Results {
			if strings.Contains(r.Url, "flood") {
				n++
			}
		}
		if want := map[bool]int{true: 2, false: 4}[allowed == nil]; n != want {
			t.Errorf("with %v allowed %d are of the domain, want %d", allowed, n, want)
		}
		end()
	}
}

func TestTheModesAreTold(t *testing.T) {
	s, w, end := startInMemory(t, nil)
	defer end()
	w.set("bing", says(200, bingPage("tea guide", addressesOf("a")...)))
	got, err := s.Search(as(t, "ann"), fusedOf())
	if err != nil || !strings.Contains(got.Markdown, "this is the answer of one index alone") {
		t.Errorf("%s (%v)", got.GetMarkdown(), err)
	}
	if slices.ContainsFunc(got.GetAttempts(), func(a *searchv1.Attempt) bool { return a.Provider == "duckduckgo" }) {
		t.Error("a second engine of the family was asked though the first answered")
	}
}

func TestAMergeThatNobodyAnswersIsAnAnswerOfTheLastHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		w.set("bing", says(200, challengePage))
		w.set("brave", braveAnswer("tea guide", addressesOf("b")))
		for i, want := range []string{"bing=CHALLENGE brave_web=OK", "bing=CHALLENGE brave_web=UPSTREAM_5XX brave_web=OK"} {
			got, err := s.Search(as(t, "ann"), fusedOf("bing", "brave_web"))
			if err != nil || trail(got) != want || got.Stale != (i > 0) || found(got) != "b" {
				t.Errorf("%s, stale %t (%v)", trail(got), got.GetStale(), err)
			}
			w.set("brave", says(503, "{}"))
			time.Sleep(20 * time.Minute)
		}
	})
}

// What every attempt filters is filtered once more after the merge: no way to put
// results together may let one through.
func TestNothingPassesTheDomainFilterByAMerge(t *testing.T) {
	q, err := check(question{text: "tea", maxResults: 5, blocked: []string{"blocked.example"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	row := func(at string) adapter.Result { return adapter.Result{Title: "tea", URL: at} }
	a := answer{fused: true, answered: []attempt{
		{provider: "bing", family: "bing", outcome: outcome.Of(outcome.OK), page: adapter.Page{Results: []adapter.Result{
			row("https://a.example/"), row("https://www.blocked.example/"), {Title: "tea", URL: "https://counter.example/1", Hidden: true},
		}}},
		{provider: "tavily", family: "tavily", outcome: outcome.Of(outcome.OK), page: adapter.Page{Results: []adapter.Result{row("https://blocked.example/")}}},
	}}
	a.finish(q)
	if len(a.results) != 1 || a.results[0].URL != "https://a.example/" {
		t.Errorf("the results are %v", a.results)
	}
}
