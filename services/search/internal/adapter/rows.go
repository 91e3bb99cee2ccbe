package adapter

import (
	"fmt"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// Bounds of what an engine can put into a result.
const (
	maxTitleRunes   = 300
	maxSnippetRunes = 1000
	maxURLBytes     = 4096
	// Passages are bounded by the size of the answer; this keeps one page from
	// taking it all.
	maxPassageRunes = 60_000
	// maxRows is more than any engine sends on a page that is meant to be read.
	maxRows = 500
)

// Rows collects the rows of a result list while an answer is read, and judges at
// the end whether the layout was understood. What it leaves out it counts, and
// Page tells. Whatever an engine sent, a row leads to an address of the web, and
// its texts are bounded and lines where they are meant to be.
type Rows struct {
	results []Result
	seen    int
	broken  int
	other   int
	beyond  int
}

// Add takes a row that has a title and an address of the web; without either the
// row counts as not understood.
func (r *Rows) Add(res Result) {
	r.seen++
	res.Title, res.URL = clip(fold(res.Title), maxTitleRunes), WebAddress(res.URL)
	if res.Title == "" || res.URL == "" || len(res.URL) > maxURLBytes {
		r.broken++
		return
	}
	if len(r.results) == maxRows {
		r.beyond++
		return
	}
	res.Snippet, res.SiteName = clip(fold(res.Snippet), maxSnippetRunes), clip(fold(res.SiteName), maxTitleRunes)
	if Base(res.Language) == "" {
		res.Language = ""
	}
	res.Passages = bounded(res.Passages)
	r.results = append(r.results, res)
}

// Skip counts what stands among the rows and is none: a place without a site, a
// table of values, a list of a kind that is not known.
func (r *Rows) Skip() { r.other++ }

// lineBreaks makes one of the ways to break a line.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// bounded marks the passages that it cuts.
func bounded(passages []Passage) []Passage {
	var out []Passage
	for _, p := range passages {
		whole := lineBreaks.Replace(p.Text)
		p.Text = clip(whole, maxPassageRunes)
		p.Cut = p.Cut || p.Text != whole
		out = append(out, p)
	}
	return out
}

// Seen is the number of rows, understood or not.
func (r *Rows) Seen() int { return r.seen }

// brokenShare is the share of rows without title or address from which the
// layout counts as changed.
const brokenShare = 0.3

// Page gives the rows as a page, or LayoutUnrecognised when none or too few of
// them were understood; rows that were left out are counted in the detail. It
// never says that a page is empty: that takes a marker, which the caller has
// looked for before.
func (r *Rows) Page(altered string) (Page, outcome.Outcome) {
	switch {
	case len(r.results) == 0 && r.seen == 0 && r.other == 0:
		return Page{HasList: true}, outcome.Because(outcome.LayoutUnrecognised, "no rows and no word that there are none")
	case len(r.results) == 0 && r.seen == 0:
		return Page{HasList: true}, outcome.Because(outcome.LayoutUnrecognised, "rows of other kinds alone")
	case len(r.results) == 0, float64(r.broken) > brokenShare*float64(r.seen):
		return Page{HasList: true}, outcome.Because(outcome.LayoutUnrecognised, "rows without title or address")
	}
	p, o := Page{Results: r.results, AlteredQuery: Line(altered)}, outcome.Because(outcome.OK, r.leftOut())
	if altered != "" {
		o.Code = outcome.OKAlteredQuery
	}
	return p, o
}

// leftOut says how many rows the page does not have, and why; empty for none.
func (r *Rows) leftOut() string {
	var said []string
	for _, one := range []struct {
		n   int
		why string
	}{
		{r.broken, "without title or address"},
		{r.other, "of another kind"},
		{r.beyond, fmt.Sprintf("beyond %d", maxRows)},
	} {
		if one.n > 0 {
			said = append(said, fmt.Sprintf("%d %s", one.n, one.why))
		}
	}
	if said == nil {
		return ""
	}
	return "rows left out: " + strings.Join(said, ", ")
}

// clip cuts a text, marking the cut.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n++; n > limit {
			return s[:i] + "…"
		}
	}
	return s
}
