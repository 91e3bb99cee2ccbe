package duckduckgo

import (
	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/correction"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pubdate"
)

var (
	liteForm    = cascadia.MustCompile(`form[action*="/lite/"]`)
	liteRow     = cascadia.MustCompile(`tr`)
	liteLink    = cascadia.MustCompile(`a.result-link`)
	liteSnippet = cascadia.MustCompile(`td.result-snippet`)
	liteStamp   = cascadia.MustCompile(`span.timestamp`)
	liteBlock   = cascadia.MustCompile(`a.result-link, td, p`)
)

// Parse implements adapter.Adapter.
func (*Lite) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return page.Read(r, readLite)
}

// readLite reads a table in which a result is three rows: link, snippet,
// address.
func readLite(doc *goquery.Document, r adapter.Response) (adapter.Page, outcome.Outcome) {
	if doc.FindMatcher(liteForm).Length() == 0 {
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "not the lite page")
	}
	var (
		rows  adapter.Rows
		link  *goquery.Selection
		entry adapter.Result
		sold  bool
	)
	flush := func() {
		if link != nil && !sold {
			add(&rows, link, r, entry)
		}
		link, entry, sold = nil, adapter.Result{}, false
	}
	doc.FindMatcher(liteRow).Each(func(_ int, tr *goquery.Selection) {
		if tr.FindMatcher(liteRow).Length() > 0 {
			return // a table around tables
		}
		if a := tr.FindMatcher(liteLink).First(); a.Length() > 0 {
			flush()
			link = a
		}
		sold = sold || tr.ClosestMatcher(paid).Length() > 0 || tr.FindMatcher(paidPart).Length() > 0 || page.Labelled(tr, words)
		if s := tr.FindMatcher(liteSnippet).First(); s.Length() > 0 {
			entry.Snippet = adapter.CleanText(s.Text())
		}
		if t := tr.FindMatcher(liteStamp).First(); t.Length() > 0 {
			entry.PublishedAt = pubdate.Parse(adapter.CleanText(t.Text()), r.ReceivedAt)
		}
	})
	flush()
	if rows.Seen() == 0 && saysNone(doc.Selection, markOrText, correction.Asked(doc, r.Query)) {
		return none()
	}
	return rows.Page(alteredQuery(doc, doc.FindMatcher(liteBlock), liteLink, r))
}
