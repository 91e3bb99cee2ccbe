package answercache

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestHowLongAnAnswerIsGood(t *testing.T) {
	today := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	plain := adapter.Query{Text: "tea"}
	type want struct {
		after time.Duration
		age   Age
	}
	cases := []struct {
		name string
		code outcome.Code
		q    adapter.Query
		want []want
	}{
		{"results", outcome.OK, plain, []want{{10*time.Minute - 1, Fresh}, {10 * time.Minute, Stale}, {time.Hour - 1, Stale}, {time.Hour, Gone}}},
		{"results of another query", outcome.OKAlteredQuery, plain, []want{{10*time.Minute - 1, Fresh}, {10 * time.Minute, Stale}}},
		{"news", outcome.OK, adapter.Query{Text: "tea", News: true}, []want{{2*time.Minute - 1, Fresh}, {2 * time.Minute, Stale}, {time.Hour, Gone}}},
		{"what is asked to be fresh", outcome.OK, adapter.Query{Text: "tea", Freshness: adapter.Within(adapter.Day, today)}, []want{{2*time.Minute - 1, Fresh}, {2 * time.Minute, Stale}}},
		{"nothing found", outcome.EmptyVerified, plain, []want{{time.Minute - 1, Fresh}, {time.Minute, Gone}}},
	}
	for _, c := range outcome.All() {
		if !c.HasResults() && c != outcome.EmptyVerified {
			cases = append(cases, struct {
				name string
				code outcome.Code
				q    adapter.Query
				want []want
			}{string(c), c, plain, []want{{0, Gone}}})
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := New(cache.NewMemory(1 << 20))
				start := time.Now()
				in := Answer{Outcome: outcome.Of(c.code), Page: adapter.Page{Results: []adapter.Result{{URL: "https://a.example/"}}, CostUSD: 1, Limits: adapter.Limits{{Limit: 1}}}, At: start}
				if err := kept.Put(t.Context(), "k", c.q, in); err != nil {
					t.Fatal(err)
				}
				for _, w := range c.want {
					time.Sleep(w.after - time.Since(start))
					a, age := kept.Get(t.Context(), "k", c.q)
					if age != w.age {
						t.Fatalf("after %s: %d, want %d", w.after, age, w.age)
					}
					if age != Gone && (a.Outcome.Code != c.code || len(a.Page.Results) != 1 || !a.At.Equal(start) || a.Page.CostUSD != 0 || a.Page.Limits != nil) {
						t.Errorf("after %s: %+v", w.after, a)
					}
				}
			})
		})
	}
}

func TestAFailureLeavesAnOlderAnswerAlone(t *testing.T) {
	kept, q := New(cache.NewMemory(1<<20)), adapter.Query{Text: "tea"}
	for _, c := range []outcome.Code{outcome.OK, outcome.Challenge} {
		if err := kept.Put(t.Context(), "k", q, Answer{Outcome: outcome.Of(c), At: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if a, age := kept.Get(t.Context(), "k", q); age != Fresh || a.Outcome.Code != outcome.OK {
		t.Errorf("%d: %+v", age, a)
	}
}

func TestEverythingThatChangesAnAnswerIsInItsKey(t *testing.T) {
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	base := adapter.Query{Text: "café  tea", Count: 5}
	of := func(place string, q adapter.Query) string {
		key, err := Key(place, q)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	want := of("bing", base)
	for name, text := range map[string]string{"white space": " café tea ", "composition": "cafe\u0301 tea"} {
		q := base
		q.Text = text
		if of("bing", q) != want {
			t.Errorf("%s changes the key", name)
		}
	}
	changes := map[string]func(*adapter.Query){
		"text":      func(q *adapter.Query) { q.Text = "coffee" },
		"case":      func(q *adapter.Query) { q.Text = "Café tea" }, // engines know operators in capitals
		"count":     func(q *adapter.Query) { q.Count = 10 },
		"page":      func(q *adapter.Query) { q.Page = 2 },
		"allowed":   func(q *adapter.Query) { q.AllowedDomains = []string{"a.example"} },
		"blocked":   func(q *adapter.Query) { q.BlockedDomains = []string{"a.example"} },
		"freshness": func(q *adapter.Query) { q.Freshness = adapter.Within(adapter.Day, day) },
		"next day":  func(q *adapter.Query) { q.Freshness = adapter.Within(adapter.Day, day.AddDate(0, 0, 1)) },
		"language":  func(q *adapter.Query) { q.Language = "fr" },
		"region":    func(q *adapter.Query) { q.Region = "FR" },
		"safe":      func(q *adapter.Query) { q.SafeSearch = adapter.SafeStrict },
		"location":  func(q *adapter.Query) { q.Location.City = "Paris" },
		"news":      func(q *adapter.Query) { q.News = true },
		"passages":  func(q *adapter.Query) { q.Passages = true },
		"tokens":    func(q *adapter.Query) { q.Passages, q.PassageTokens = true, 100 },
	}
	seen := map[string]string{want: "the base", of("brave", base): "another engine"}
	for name, change := range changes {
		q := base
		change(&q)
		key := of("bing", q)
		if before, taken := seen[key]; taken {
			t.Errorf("%s has the key of %s", name, before)
		}
		seen[key] = name
	}
}

func TestAnEntryThatCannotBeReadIsNone(t *testing.T) {
	store := cache.NewMemory(1 << 20)
	if err := store.Set(t.Context(), "k", []byte("{"), 0); err != nil {
		t.Fatal(err)
	}
	if _, age := New(store).Get(t.Context(), "k", adapter.Query{}); age != Gone {
		t.Errorf("%d", age)
	}
}
