// Package mutate breaks answers of engines in the ways in which engines change
// theirs, and holds every adapter to the one promise that matters: an answer
// that is not understood is never called empty.
package mutate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/generic"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mutation is a way to break an answer.
type mutation struct {
	name   string
	change func([]byte) []byte
	// cut says that the change takes the end off, of which the transport tells.
	cut bool
}

// of is an answer, broken.
func (m mutation) of(r adapter.Response) adapter.Response {
	r.Body, r.Truncated = m.change(r.Body), r.Truncated || m.cut
	return r
}

func replaced(name string, form *regexp.Regexp, with string) mutation {
	return mutation{name: name, change: func(b []byte) []byte { return form.ReplaceAll(b, []byte(with)) }}
}

func renamed(name, from, to string) mutation {
	return mutation{name: name, change: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(from), []byte(to)) }}
}

var twice = mutation{name: "twice", change: func(b []byte) []byte { return bytes.Repeat(b, 2) }}

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

func pieces() []mutation {
	var out []mutation
	for i := range cuts {
		out = append(out, mutation{fmt.Sprintf("cut at %d/%d", i, cuts), func(b []byte) []byte { return b[:len(b)*i/cuts] }, true})
	}
	return out
}

// foots are what engines write below the last row, or beside the rows about other
// things, on the pages that have a text: none of them says that the web has
// nothing.
var foots = []struct{ on, foot string }{
	{"/html/", `<div class="no-results">No more results.</div>`},
	{"/html/", `<div class="zci">No results</div>`},
	{"/lite/", `<table><tr><td>No more results.</td></tr></table>`},
	{"b_results", `<aside id="b_context"><div class="b_no">No results for tea</div></aside>`},
	{"content_left", `<div id="content_right"><div class="nors">未找到相关图片</div></div>`},
}

func pageMutations(page []byte) []mutation {
	out := pieces()
	for _, n := range names {
		if bytes.Contains(page, []byte(n)) {
			out = append(out, renamed("renamed "+n, n, "zz"), renamed("removed "+n, n, ""))
		}
	}
	for _, f := range foots {
		if bytes.Contains(page, []byte(f.on)) {
			out = append(out, renamed("with the foot "+f.foot, "</body>", f.foot+"</body>"))
		}
	}
	return append(out,
		replaced("classes dropped", classes, ""),
		replaced("ids dropped", ids, ""),
		replaced("links dropped", hrefs, ""),
		replaced("markup dropped", tags, ""),
		renamed("links moved into data", "href=", "data-href="),
		renamed("another counter of clicks", "/l/?uddg=", "/?q="),
		twice,
	)
}

var key = regexp.MustCompile(`"([A-Za-z_]+)"\s*:`)

func jsonMutations(body []byte) []mutation {
	out := pieces()
	var seen []string
	for _, m := range key.FindAllSubmatch(body, -1) {
		name := string(m[1])
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		this := regexp.MustCompile(`"` + name + `"(\s*:\s*)`)
		out = append(out,
			replaced("renamed "+name, this, `"zz"$1`),
			replaced("null "+name, regexp.MustCompile(`"`+name+`"\s*:\s*("[^"]*"|[0-9.]+|true|false|\[\]|\{\})`), `"`+name+`": null`),
			replaced("a number for "+name, this, `"`+name+`": 7, "zz"$1`),
			replaced("a list for "+name, this, `"`+name+`": [[7]], "zz"$1`),
		)
	}
	return append(out, twice, mutation{name: "in a list", change: func(b []byte) []byte { return slices.Concat([]byte("["), b, []byte("]")) }})
}

// pairs draws two changes at a time, the same ones in every run: engines change
// more than one thing at once.
func pairs(of []mutation, n int) []mutation {
	draw := rand.New(rand.NewPCG(1, 2))
	var out []mutation
	for range n {
		first, second := of[draw.IntN(len(of))], of[draw.IntN(len(of))]
		out = append(out, mutation{
			first.name + ", " + second.name, func(b []byte) []byte { return second.change(first.change(b)) }, first.cut || second.cut,
		})
	}
	return out
}

// Pairs drawn for each captured page and for each page made by hand, which are
// small.
var pairsCaptured, pairsHandMade = sampletest.Count(5, 60), sampletest.Count(10, 120)

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
		all := pageMutations(c.Body)
		for _, m := range append(all, pairs(all, pairsCaptured)...) {
			hold(t, c.Provider, engine.Parse, m.of(adapter.Response{Status: c.Status, Body: c.Body}), c.File+", "+m.name, empty)
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
			all := change(r.Body)
			for _, m := range append(all, pairs(all, pairsHandMade)...) {
				hold(t, name, engine.Parse, m.of(r), file+", "+m.name, before.Code == outcome.EmptyVerified)
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
