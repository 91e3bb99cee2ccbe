// Package mutate breaks captured pages in the ways in which engines change
// theirs, and holds every adapter to the one promise that matters: a page that
// is not understood is never called empty.
package mutate

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/bing"
	"github.com/nanoclaw/nanoclaw/services/search/internal/duckduckgo"
	"github.com/nanoclaw/nanoclaw/services/search/internal/generic"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

type mutation struct {
	name string
	page []byte
}

// names that carry a layout: containers, rows, titles, snippets.
var names = []string{
	"b_results", "b_algo", "b_caption", "b_lineclamp", "links", "web-result", "result__a", "result__snippet",
	"result-link", "result-snippet", "result", "h2", "ol", "li", "td", "href",
}

func mutations(page []byte) []mutation {
	var out []mutation
	for i := range 10 {
		out = append(out, mutation{fmt.Sprintf("cut at %d/10", i), page[:len(page)*i/10]})
	}
	for _, n := range names {
		if name := []byte(n); bytes.Contains(page, name) {
			out = append(out,
				mutation{"renamed " + n, bytes.ReplaceAll(page, name, []byte("zz"))},
				mutation{"removed " + n, bytes.ReplaceAll(page, name, nil)})
		}
	}
	out = append(out,
		mutation{"classes dropped", regexp.MustCompile(`class=("[^"]*"|'[^']*')`).ReplaceAll(page, nil)},
		mutation{"ids dropped", regexp.MustCompile(`\sid=("[^"]*"|'[^']*')`).ReplaceAll(page, nil)},
		mutation{"links dropped", regexp.MustCompile(`href=("[^"]*"|'[^']*')`).ReplaceAll(page, nil)},
		mutation{"markup dropped", regexp.MustCompile(`<[^>]*>`).ReplaceAll(page, nil)},
		mutation{"twice", bytes.Repeat(page, 2)},
	)
	return out
}

func TestBrokenPagesAreNeverCalledEmpty(t *testing.T) {
	parsers := map[string]func(adapter.Response) (adapter.Page, outcome.Outcome){
		bing.Name: bing.New(bing.Config{}).Parse, duckduckgo.NameHTML: duckduckgo.NewHTML("").Parse,
		duckduckgo.NameLite: duckduckgo.NewLite("").Parse, "generic": generic.Parse,
	}
	n := 0
	hold := func(c adaptertest.Captured, name, change string, page []byte) {
		n++
		p, o := parsers[name](adapter.Response{Status: c.Status, Body: page})
		if !slices.Contains(outcome.All(), o.Code) {
			t.Errorf("%s by %s, %s: outcome %q is unknown", c.File, name, change, o.Code)
		}
		if o.Code == outcome.EmptyVerified {
			t.Errorf("%s by %s, %s: called empty (%s)", c.File, name, change, o.Detail)
		}
		if o.Code.HasResults() != (len(p.Results) > 0) {
			t.Errorf("%s by %s, %s: %s with %d results", c.File, name, change, o.Code, len(p.Results))
		}
	}
	for _, c := range adaptertest.Corpus(t) {
		for name := range parsers {
			hold(c, name, "unchanged", c.Body)
		}
		if _, ok := parsers[c.Provider]; !ok || c.Provider == "generic" {
			continue
		}
		for _, m := range mutations(c.Body) {
			hold(c, c.Provider, m.name, m.page)
		}
	}
	t.Logf("%d pages", n)
}
