package duckduckgo

import (
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/correction"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pubdate"
)

var (
	links     = cascadia.MustCompile(`#links`)
	webResult = cascadia.MustCompile(`.web-result`)
	noResult  = cascadia.MustCompile(`.result--no-result, .no-results`)
	resultA   = cascadia.MustCompile(`a.result__a`)
	snippetA  = cascadia.MustCompile(`.result__snippet`)
	stamp     = cascadia.MustCompile(`.result__extras__url > span:not(.result__icon), .result__timestamp`)
	block     = cascadia.MustCompile(`.web-result, div, p`)
	anyBlock  = cascadia.MustCompile(`.web-result, a.result-link, div, p, td`)
	meant     = cascadia.MustCompile(`#did_you_mean, .did-you-mean, .msg--spelling, #links .msg, .message`)
)

// Parse implements adapter.Adapter.
func (*HTML) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return page.Read(r, readHTML)
}

func readHTML(doc *goquery.Document, r adapter.Response) (adapter.Page, outcome.Outcome) {
	list := doc.FindMatcher(links).First()
	if list.Length() == 0 {
		if saysNone(doc.Selection, noResult, correction.Asked(doc, r.Query)) {
			return none()
		}
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of results")
	}
	var rows adapter.Rows
	list.FindMatcher(webResult).NotMatcher(noResult).Each(func(_ int, row *goquery.Selection) {
		if isPaid(row) {
			return
		}
		link := row.FindMatcher(resultA).First()
		add(&rows, link, r, adapter.Result{
			Snippet:     adapter.CleanText(row.FindMatcher(snippetA).First().Text()),
			PublishedAt: pubdate.Parse(adapter.CleanText(row.FindMatcher(stamp).Last().Text()), r.ReceivedAt),
		})
	})
	if rows.Seen() == 0 && saysNone(list, markOrText, correction.Asked(doc, r.Query)) {
		return none()
	}
	return rows.Page(alteredQuery(doc, list.FindMatcher(block), webResult, r))
}

func none() (adapter.Page, outcome.Outcome) {
	return adapter.Page{}, outcome.Because(outcome.EmptyVerified, "duckduckgo says that there are no results")
}

// endOfList is the link, titled EOF, that stands below the last result.
const endOfList = "http://www.google.com/search?"

// add completes a row with its link, unless the link is paid for, leads back
// into DuckDuckGo, or is the mark of the list's end.
func add(rows *adapter.Rows, link *goquery.Selection, r adapter.Response, row adapter.Result) {
	address, kind := target(link.AttrOr("href", ""))
	row.Title = adapter.CleanText(link.Text())
	if !kind.OfRow() || row.Title == "EOF" && strings.HasPrefix(address, endOfList) {
		return
	}
	row.URL = address
	if row.PublishedAt == "" {
		row.PublishedAt, row.Snippet = pubdate.SplitPrefix(row.Snippet, r.ReceivedAt)
	}
	rows.Add(row)
}

// alteredQuery gives the query that the results are for, when the page says that
// it searched for something else: in the box made for it, else in a block of its
// own above the first row. "Did you mean" only asks.
func alteredQuery(doc *goquery.Document, blocks *goquery.Selection, row cascadia.Selector, r adapter.Response) string {
	asked := correction.Asked(doc, r.Query)
	altered := correction.Of(doc.FindMatcher(meant), asked)
	if altered != "" {
		return altered
	}
	blocks.EachWithBreak(func(_ int, s *goquery.Selection) bool {
		switch {
		case isPaid(s), s.ClosestMatcher(zeroClick).Length() > 0:
			return true
		case s.IsMatcher(row):
			return false
		case s.FindMatcher(anyBlock).Length() > 0:
			return true // a block around others
		}
		altered = correction.Of(s, asked)
		return altered == ""
	})
	return altered
}
