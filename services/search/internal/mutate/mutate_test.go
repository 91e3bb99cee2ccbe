// Package mutate breaks captured pages in the ways in which engines change
// theirs, and holds every adapter to the one promise that matters: a page that
// is not understood is never called empty.
package mutate

import (
	"bytes"
	"fmt"
	"regexp"
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
		word := regexp.MustCompile(`\b` + n + `\b`)
		out = append(out,
			mutation{"renamed " + n, word.ReplaceAll(page, []byte("zz"+n))},
			mutation{"removed " + n, word.ReplaceAll(page, nil)})
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
	for _, c := range adaptertest.Corpus(t) {
		if c.Kind == "no_results" {
			continue // these are empty, and their engines have no adapter
		}
		for name, parse := range parsers {
			if _, has := parsers[c.Provider]; has && name != c.Provider {
				continue
			}
			for _, m := range mutations(c.Body) {
				p, o := parse(adapter.Response{Status: c.Status, Body: m.page})
				n++
				if !known(o.Code) {
					t.Errorf("%s by %s, %s: outcome %q is unknown", c.File, name, m.name, o.Code)
				}
				if o.Code == outcome.EmptyVerified {
					t.Errorf("%s by %s, %s: called empty (%s)", c.File, name, m.name, o.Detail)
				}
				if o.Code.HasResults() != (len(p.Results) > 0) {
					t.Errorf("%s by %s, %s: %s with %d results", c.File, name, m.name, o.Code, len(p.Results))
				}
			}
		}
	}
	t.Logf("%d broken pages", n)
}

func known(c outcome.Code) bool {
	for _, k := range outcome.All() {
		if c == k {
			return true
		}
	}
	return false
}
