package duckduckgo

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/corpus"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestCapturedPagesAreReadAsKnown(t *testing.T) {
	want := map[string]outcome.Code{
		"results": outcome.OK, "challenge": outcome.Challenge, "js_shell": outcome.JSShell,
		"results_legacy_layout": outcome.LayoutUnrecognised, "results_js_serp": outcome.LayoutUnrecognised,
		"news_js_serp": outcome.LayoutUnrecognised,
	}
	engines := map[string]adapter.Adapter{NameHTML: NewHTML(""), NameLite: NewLite("")}
	for _, c := range corpus.Load(t) {
		engine, ok := engines[c.Provider]
		if !ok {
			continue
		}
		t.Run(c.File, func(t *testing.T) {
			p, o := engine.Parse(adapter.Response{Status: c.Status, Body: c.Body})
			if o.Code != want[c.Kind] {
				t.Fatalf("outcome %s (%s), want %s", o.Code, o.Detail, want[c.Kind])
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
