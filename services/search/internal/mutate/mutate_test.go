// Package mutate breaks answers of engines in the ways in which engines change
// theirs, and holds every adapter to the one promise that matters: an answer
// that is not understood is never called empty.
package mutate

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/generic"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type mutation struct {
	name string
	page []byte
}

// names that carry a layout: containers, rows, titles, snippets.
var names = []string{
	"b_results", "b_algo", "b_caption", "b_lineclamp", "links", "web-result", "result__a", "result__snippet",
	"result-link", "result-snippet", "result", "content_left", "c-container", "c-abstract", "data-module", "mu=", "newsitem", "title",
	"h2", "h3", "ol", "li", "td", "href",
}

var (
	classes = regexp.MustCompile(`class=("[^"]*"|'[^']*')`)
	ids     = regexp.MustCompile(`\sid=("[^"]*"|'[^']*')`)
	hrefs   = regexp.MustCompile(`href=("[^"]*"|'[^']*')`)
	tags    = regexp.MustCompile(`<[^>]*>`)
)

// cuts is at how many points an answer is cut.
const cuts = 10

func pieces(page []byte) []mutation {
	var out []mutation
	for i := range cuts {
		out = append(out, mutation{fmt.Sprintf("cut at %d/%d", i, cuts), page[:len(page)*i/cuts]})
	}
	return out
}

func pageMutations(page []byte) []mutation {
	out := pieces(page)
	for _, n := range names {
		if name := []byte(n); bytes.Contains(page, name) {
			out = append(out,
				mutation{"renamed " + n, bytes.ReplaceAll(page, name, []byte("zz"))},
				mutation{"removed " + n, bytes.ReplaceAll(page, name, nil)})
		}
	}
	return append(out,
		mutation{"classes dropped", classes.ReplaceAll(page, nil)},
		mutation{"ids dropped", ids.ReplaceAll(page, nil)},
		mutation{"links dropped", hrefs.ReplaceAll(page, nil)},
		mutation{"markup dropped", tags.ReplaceAll(page, nil)},
		mutation{"twice", bytes.Repeat(page, 2)},
	)
}

var key = regexp.MustCompile(`"([A-Za-z_]+)"\s*:`)

func jsonMutations(body []byte) []mutation {
	out := pieces(body)
	var seen []string
	for _, m := range key.FindAllSubmatch(body, -1) {
		name := string(m[1])
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		this := regexp.MustCompile(`"` + name + `"(\s*:\s*)`)
		out = append(out,
			mutation{"renamed " + name, this.ReplaceAll(body, []byte(`"zz"$1`))},
			mutation{"null " + name, regexp.MustCompile(`"`+name+`"\s*:\s*("[^"]*"|[0-9.]+|true|false|\[\]|\{\})`).ReplaceAll(body, []byte(`"`+name+`": null`))},
			mutation{"a number for " + name, this.ReplaceAll(body, []byte(`"`+name+`": 7, "zz"$1`))},
			mutation{"a list for " + name, this.ReplaceAll(body, []byte(`"`+name+`": [[7]], "zz"$1`))},
		)
	}
	return append(out, mutation{"twice", bytes.Repeat(body, 2)}, mutation{"in a list", slices.Concat([]byte("["), body, []byte("]"))})
}

// hold parses a broken answer. readable says that the answer was empty before
// it was broken, and may be so after.
func hold(t *testing.T, engine string, parse func(adapter.Response) (adapter.Page, outcome.Outcome), r adapter.Response, what string, readable bool) {
	t.Helper()
	p, o := parse(r)
	if !slices.Contains(outcome.All(), o.Code) {
		t.Errorf("%s by %s: outcome %q is unknown", what, engine, o.Code)
	}
	if o.Code == outcome.EmptyVerified && !readable {
		t.Errorf("%s by %s: called empty (%s)", what, engine, o.Detail)
	}
	if o.Code.HasResults() != (len(p.Results) > 0) {
		t.Errorf("%s by %s: %s with %d results", what, engine, o.Code, len(p.Results))
	}
}

func TestBrokenPagesAreNeverCalledEmpty(t *testing.T) {
	n := 0
	for _, c := range adaptertest.Corpus(t) {
		empty := c.Kind == "no_results"
		for _, name := range catalog.Names() {
			engine, _ := catalog.New(name, catalog.Settings{})
			hold(t, name, engine.Parse, adapter.Response{Status: c.Status, Body: c.Body}, c.File, empty && name == c.Provider)
			n++
		}
		hold(t, "generic", generic.Parse, adapter.Response{Status: c.Status, Body: c.Body}, c.File, false)
		engine, ok := catalog.New(c.Provider, catalog.Settings{})
		if !ok {
			continue
		}
		for _, m := range pageMutations(c.Body) {
			hold(t, c.Provider, engine.Parse, adapter.Response{Status: c.Status, Body: m.page}, c.File+", "+m.name, empty)
			n++
		}
	}
	t.Logf("%d pages", n)
}

// folders are where the hand-made answers of an engine are, and what the names
// of its files begin with.
var folders = map[string][2]string{
	"bing": {"bing", ""}, "duckduckgo": {"duckduckgo", "html_"}, "duckduckgo_lite": {"duckduckgo", "lite_"}, "baidu": {"baidu", ""},
	"searxng": {"searxng", ""}, "brave_llm": {"brave", "llm_"}, "brave_web": {"brave", "web_"}, "tavily": {"tavily", ""},
	"bocha": {"bocha", ""}, "zhipu": {"zhipu", ""}, "anthropic": {"anthropic", ""},
}

func TestBrokenHandMadeAnswersAreNeverCalledEmpty(t *testing.T) {
	n := 0
	for _, name := range catalog.Names() {
		at, ok := folders[name]
		if !ok {
			t.Fatalf("the answers of %s are not known here", name)
		}
		engine, _ := catalog.New(name, catalog.Settings{})
		for file, r := range answers(t, filepath.Join("..", at[0], "testdata"), at[1]) {
			_, before := engine.Parse(r)
			change := jsonMutations
			if bytes.HasPrefix(bytes.TrimSpace(r.Body), []byte("<")) {
				change = pageMutations
			}
			for _, m := range change(r.Body) {
				broken := r
				broken.Body = m.page
				hold(t, name, engine.Parse, broken, file+", "+m.name, before.Code == outcome.EmptyVerified)
				n++
			}
		}
	}
	t.Logf("%d answers", n)
}

// answers are the pages and the answers of APIs in a folder.
func answers(t *testing.T, dir, prefix string) map[string]adapter.Response {
	t.Helper()
	out := map[string]adapter.Response{}
	if raw, err := filepath.Glob(filepath.Join(dir, prefix+"*.http")); err == nil && len(raw) > 0 {
		out = adaptertest.Responses(t, dir, prefix)
	}
	for file, body := range adaptertest.Pages(t, dir, prefix) {
		out[file] = adapter.Response{Status: 200, Body: body}
	}
	if len(out) == 0 {
		t.Fatalf("no answers in %s", dir)
	}
	return out
}
