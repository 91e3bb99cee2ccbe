package relevance

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
)

// sample is a page of results with the query that they answer.
type sample struct {
	// query is the one asked; altered is the one searched instead, if any.
	query, altered string
	// reworded asks for the same in a sentence.
	reworded string
	rows     []adapter.Result
}

// questions are the queries that the rows answer.
func (s sample) questions() []string {
	switch {
	case s.altered != "":
		return []string{s.altered}
	case s.reworded != "":
		return []string{s.query, s.reworded}
	}
	return []string{s.query}
}

// captured are the pages of the corpus that have results, with the queries that
// they were asked for, as the pages themselves show them.
var captured = map[string]string{
	"bing_openserp_results.html":                "how to read file in JS",
	"bing_wsmcp_http.html":                      "javascript tutorial",
	"bing_googlescraper_noresults_literal.html": `"dfsdf sdaf asdf asdfasdf asdf"`,
	"ddg_html_cli_2026.html":                    "rust programming",
	"ddg_lite_cli_2026.html":                    "rust programming language",
	"baidu_openserp_results.html":               "what is megadeath",
}

// samples are the captured pages, where they are, and those made by hand.
func samples(t *testing.T) []sample {
	t.Helper()
	all := handMade(t)
	t.Run("captured", func(t *testing.T) {
		for _, c := range adaptertest.Corpus(t) {
			query, ok := captured[c.File]
			if !ok {
				continue
			}
			engine, _ := catalog.New(c.Provider, catalog.Settings{})
			p, o := engine.Parse(adapter.Response{Status: c.Status, Body: c.Body})
			if !o.Code.HasResults() {
				t.Errorf("%s: %s (%s)", c.File, o.Code, o.Detail)
				continue
			}
			all = append(all, sample{query: query, altered: p.AlteredQuery, rows: p.Results})
		}
	})
	return all
}

func handMade(t *testing.T) []sample {
	t.Helper()
	var all []sample
	for _, line := range lines(t, "testdata/pages.txt") {
		if query, ok := strings.CutPrefix(line, "== "); ok {
			all = append(all, sample{query: query})
			continue
		}
		if len(all) == 0 {
			t.Fatalf("a row before any query: %q", line)
		}
		last := &all[len(all)-1]
		if sentence, ok := strings.CutPrefix(line, "~ "); ok {
			last.reworded = sentence
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 3 {
			t.Fatalf("no row: %q", line)
		}
		last.rows = append(last.rows, adapter.Result{Title: parts[0], URL: parts[1], Snippet: parts[2]})
	}
	return all
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if line := scan.Text(); line != "" && !strings.HasPrefix(line, "# ") {
			out = append(out, line)
		}
	}
	return out
}

// related are the pairs of strangers that are none, in both orders.
func related(t *testing.T) map[[2]string]bool {
	t.Helper()
	pairs := map[[2]string]bool{}
	for _, line := range lines(t, "testdata/related.txt") {
		query, page, ok := strings.Cut(line, " | ")
		if !ok {
			t.Fatalf("no pair: %q", line)
		}
		pairs[[2]string{query, page}], pairs[[2]string{page, query}] = true, true
	}
	return pairs
}

// The bars of the decoy guard.
const (
	minPairs       = 300
	minRejected    = 0.98
	maxOwnRejected = 0.01
)

func TestPagesOfOtherQueriesAreRejected(t *testing.T) {
	all, left := samples(t), related(t)
	pairs, rejected := 0, 0
	texts := make([][]terms, len(all))
	for i, page := range all {
		texts[i] = textsOf(page.rows)
	}
	for i, asked := range all {
		for j, page := range all {
			if i == j || left[[2]string{asked.query, page.query}] {
				continue
			}
			for _, question := range asked.questions() {
				pairs++
				v := judge(question, page.rows, texts[j])
				if v.Decoy {
					rejected++
					continue
				}
				t.Logf("%q lets %d of %d rows of %q through", question, len(v.Kept), len(page.rows), page.query)
			}
		}
	}
	t.Logf("%d of %d pages of strangers rejected", rejected, pairs)
	if pairs < minPairs {
		t.Errorf("%d pairs, want %d", pairs, minPairs)
	}
	if share := float64(rejected) / float64(pairs); share < minRejected {
		t.Errorf("%.3f of the strangers rejected, want %.2f", share, minRejected)
	}
}

func TestPagesOfTheQueryItselfAreKept(t *testing.T) {
	all := samples(t)
	own, rejected := 0, 0
	for _, s := range all {
		for _, question := range s.questions() {
			own++
			if v := Judge(question, s.rows); v.Decoy {
				rejected++
				t.Logf("%q is rejected (share %.2f, words %v)", question, v.Share, distinctive(question))
			} else if len(v.Kept) != len(s.rows) {
				t.Logf("%q loses rows: %d of %d kept (share %.2f)", question, len(v.Kept), len(s.rows), v.Share)
			}
		}
	}
	t.Logf("%d of %d own pages rejected", rejected, own)
	if share := float64(rejected) / float64(own); share > maxOwnRejected {
		t.Errorf("%.3f of the own pages rejected, want at most %.2f", share, maxOwnRejected)
	}
}
