package bing

import (
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/correction"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
)

var (
	nothing = cascadia.MustCompile(`li.b_no`)
	outside = cascadia.MustCompile(`#b_content .b_no`)
	sidebar = cascadia.MustCompile(`#b_context`)
	anyLink = cascadia.MustCompile(`a`)
)

func none() (adapter.Page, outcome.Outcome) {
	return adapter.Page{}, outcome.Because(outcome.EmptyVerified, "bing says that there are no results")
}

// saysNone reports whether the list itself says that there are no results. That
// wins over rows: Bing fills such pages with rows of other queries. A mark
// without words says nothing.
func saysNone(marks *goquery.Selection, asked string) bool {
	return marks.FilterFunction(func(_ int, s *goquery.Selection) bool { return page.SaysNone(s, asked) != "" }).Length() > 0
}

// saysNoneElsewhere reports whether a page without a readable row says so in
// another place. Answers have marks of their own there ("no images"), so the mark
// has to name the query, and nothing on the page may be a row of a layout that is
// not understood.
func saysNoneElsewhere(doc *goquery.Document, r adapter.Response) bool {
	asked := strings.ToLower(adapter.CleanText(correction.Asked(doc, r.Query)))
	marks := doc.FindMatcher(outside).FilterFunction(func(_ int, s *goquery.Selection) bool {
		return asked != "" && strings.Contains(strings.ToLower(page.SaysNone(s, asked)), asked) &&
			s.ClosestMatcher(sidebar).Length() == 0 && s.ClosestMatcher(organic).Length() == 0 && s.FindMatcher(organic).Length() == 0
	})
	if marks.Length() == 0 {
		return false
	}
	rows := doc.FindMatcher(anyLink).FilterFunction(func(_ int, a *goquery.Selection) bool {
		return mayBeRow(a) && !marks.Contains(a.Nodes[0])
	})
	return rows.Length() == 0
}

// mayBeRow reports whether a link may be that of a row: one in the place of the
// results that leads away from Bing, or of which nobody knows where it leads.
func mayBeRow(a *goquery.Selection) bool {
	if adapter.CleanText(a.Text()) == "" || a.ClosestMatcher(sidebar).Length() > 0 || a.ClosestMatcher(paid).Length() > 0 {
		return false
	}
	address, kind := target(a.AttrOr("href", ""))
	if kind == page.Target {
		u, _ := page.Resolve(home, address)
		return !page.Within(u, "bing.com")
	}
	return kind == page.Broken
}
