package bing

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/corpus"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestCapturedPagesAreReadAsKnown(t *testing.T) {
	want := map[string]outcome.Code{
		"results": outcome.OK, "results_altered_query": outcome.OKAlteredQuery,
		"no_results": outcome.EmptyVerified, "challenge": outcome.Challenge,
	}
	for _, c := range corpus.Load(t) {
		if c.Provider != Name {
			continue
		}
		t.Run(c.File, func(t *testing.T) {
			p, o := New(Config{}).Parse(adapter.Response{Status: c.Status, Body: c.Body})
			if o.Code != want[c.Kind] {
				t.Fatalf("outcome %s (%s), want %s", o.Code, o.Detail, want[c.Kind])
			}
			if (o.Code == outcome.OKAlteredQuery) != (p.AlteredQuery != "") {
				t.Errorf("outcome %s with altered query %q", o.Code, p.AlteredQuery)
			}
			if len(p.Results) != len(c.Organic) {
				t.Fatalf("%d results, want %d", len(p.Results), len(c.Organic))
			}
			for i, want := range c.Organic {
				got := p.Results[i]
				if got.URL != want.URL || got.Title != want.Title {
					t.Errorf("result %d is %q at %s, want %q at %s", i, got.Title, got.URL, want.Title, want.URL)
				}
				if got.Snippet == "" {
					t.Errorf("result %d (%s) has no snippet", i, got.URL)
				}
			}
		})
	}
}
