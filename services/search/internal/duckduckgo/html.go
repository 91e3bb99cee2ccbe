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
	paid      = cascadia.MustCompile(`.result--ad`)
	noResult  = cascadia.MustCompile(`.result--no-result, .no-results`)
	loneNone  = cascadia.MustCompile(`a[href], .web-result, .result--no-result, .no-results`)
	resultA   = cascadia.MustCompile(`a.result__a`)
	snippetA  = cascadia.MustCompile(`.result__snippet`)
	stamp     = cascadia.MustCompile(`.result__extras__url > span:not(.result__icon), .result__timestamp`)
	rowOrNone = cascadia.MustCompile(`a[href], .web-result, .result--no-result, .no-results, div, p, span, td`)
	meant     = cascadia.MustCompile(`#did_you_mean, .did-you-mean, .msg--spelling, #links .msg, .message`)
)

// Parse implements adapter.Adapter.
func (*HTML) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return page.Read(r, readHTML)
}

func readHTML(doc *goquery.Document, r adapter.Response) (adapter.Page, outcome.Outcome) {
	list := doc.FindMatcher(links).First()
	if list.Length() == 0 {
		if noneBeforeRows(doc.FindMatcher(loneNone), webResult, paid, saysNoneAlone) {
			return none()
		}
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of results")
	}
	// The same mark, further down, says that there are no more results. Only
	// where it comes first does it say that there are none.
	if noneBeforeRows(list.FindMatcher(rowOrNone), webResult, paid, saysNone) {
		return none()
	}
	var rows adapter.Rows
	list.FindMatcher(webResult).NotMatcher(paid).NotMatcher(noResult).Each(func(_ int, row *goquery.Selection) {
		link := row.FindMatcher(resultA).First()
		add(&rows, link, r, adapter.Result{
			Snippet:     adapter.CleanText(row.FindMatcher(snippetA).First().Text()),
			PublishedAt: pubdate.Parse(adapter.CleanText(row.FindMatcher(stamp).Last().Text()), r.ReceivedAt),
		})
	})
	return rows.Page(alteredQuery(doc, r))
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

// alteredQuery gives the query that the results are for, when the page says
// that it searched for something else. "Did you mean" only asks.
func alteredQuery(doc *goquery.Document, r adapter.Response) string {
	return correction.Of(doc.FindMatcher(meant), correction.Asked(doc, r.Query))
}
