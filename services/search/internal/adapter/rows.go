package adapter

import "github.com/nanoclaw/nanoclaw/services/search/internal/outcome"

// Bounds of what a page can put into a result.
const (
	maxTitleRunes   = 300
	maxSnippetRunes = 1000
	maxURLBytes     = 4096
	// Passages are bounded by the size of the answer; this keeps one page from
	// taking it all.
	maxPassageRunes = 60_000
)

// Rows collects the rows of a result list while a page is read, and judges at
// the end whether the layout was understood.
type Rows struct {
	results []Result
	seen    int
	broken  int
}

// Add takes a row that has a title and an address; without either the row
// counts as not understood.
func (r *Rows) Add(res Result) {
	r.seen++
	if res.Title == "" || res.URL == "" || len(res.URL) > maxURLBytes {
		r.broken++
		return
	}
	res.Title, res.Snippet = clip(res.Title, maxTitleRunes), clip(res.Snippet, maxSnippetRunes)
	res.SiteName = clip(res.SiteName, maxTitleRunes)
	res.Passages = bounded(res.Passages)
	r.results = append(r.results, res)
}

// bounded marks the passages that it cuts.
func bounded(passages []Passage) []Passage {
	for i, p := range passages {
		if cut := clip(p.Text, maxPassageRunes); cut != p.Text {
			passages[i].Text, passages[i].Cut = cut, true
		}
	}
	return passages
}

// Seen is the number of rows, understood or not.
func (r *Rows) Seen() int { return r.seen }

// brokenShare is the share of rows without title or address from which the
// layout counts as changed.
const brokenShare = 0.3

// Page gives the rows as a page, or LayoutUnrecognised when none or too few of
// them were understood. It never says that a page is empty: that takes a
// marker, which the caller has looked for before.
func (r *Rows) Page(altered string) (Page, outcome.Outcome) {
	switch {
	case len(r.results) == 0 && r.seen == 0:
		return Page{}, outcome.Because(outcome.LayoutUnrecognised, "no rows and no word that there are none")
	case len(r.results) == 0, float64(r.broken) > brokenShare*float64(r.seen):
		return Page{}, outcome.Because(outcome.LayoutUnrecognised, "rows without title or address")
	case altered != "":
		return Page{Results: r.results, AlteredQuery: altered}, outcome.Of(outcome.OKAlteredQuery)
	}
	return Page{Results: r.results}, outcome.Of(outcome.OK)
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
