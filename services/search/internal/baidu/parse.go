package baidu

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
	list = cascadia.MustCompile(`#content_left`)
	// organic are the results of the web index, and entries of Baidu's
	// encyclopaedia, which come in a box of their own.
	organic   = cascadia.MustCompile(`.c-container.result, .c-container.result-op[tpl^="bk_"]`)
	paid      = cascadia.MustCompile(`[data-tuiguang], [data-placeid], .ec_wise_ad, .EC_result`)
	paidMark  = cascadia.MustCompile(`.ec-tuiguang, .ec_tuiguang_pplink, a.m[data-tuiguang]`)
	paidLabel = cascadia.MustCompile(`span.m, a.m`)
	words     = cascadia.MustCompile(`h3, a:not(.m):not([href*="//e.baidu.com/"]), em:not([class]), .cosc-source-text, .c-showurl, ` +
		`[data-module="abstract"], .c-abstract, [class*="summary-text"]`)
	titleLink = cascadia.MustCompile(`h3 a[href]`)
	minor     = cascadia.MustCompile(`.cos-color-text-minor, .newTimeFactor_before_abs, .c-color-gray2`)
	site      = cascadia.MustCompile(`.cosc-source-text, [class*="siteLink"], .c-showurl`)
	tip       = cascadia.MustCompile(`#super_se_tip, .super_se_tip, .hit_top_new`)
)

// abstracts are where the text of a row stands, the surest first. Class names
// have a part that changes with every build, so only their beginning counts.
var abstracts = []cascadia.Selector{
	cascadia.MustCompile(`[data-module="abstract"]`),
	cascadia.MustCompile(`.c-abstract`),
	cascadia.MustCompile(`[class*="content-right"]`),
	cascadia.MustCompile(`[class*="summary-text"]`),
	cascadia.MustCompile(`[class*="main-info"] .c-color-text`),
	cascadia.MustCompile(`.c-color-text, .c-span-last .c-font-normal`),
}

// Parse implements adapter.Adapter.
func (a *Adapter) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return page.Read(r, read)
}

func read(doc *goquery.Document, r adapter.Response) (adapter.Page, outcome.Outcome) {
	results := doc.FindMatcher(list).First()
	var rows adapter.Rows
	results.ChildrenMatcher(organic).Each(func(_ int, row *goquery.Selection) {
		if isPaid(row) {
			return
		}
		if result, ok := readRow(row, r); ok {
			rows.Add(result)
		}
	})
	switch {
	case rows.Seen() == 0 && saysNone(doc, correction.Asked(doc, r.Query)):
		return adapter.Page{}, outcome.Because(outcome.EmptyVerified, "baidu says that there are no results")
	case results.Length() == 0:
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of results")
	}
	return rows.Page(alteredQuery(doc, r))
}

// isPaid reports whether a row is an advertisement: by what it carries, or by the
// label that stands outside of its title and its text.
func isPaid(row *goquery.Selection) bool {
	return row.IsMatcher(paid) || row.FindMatcher(paidMark).Length() > 0 ||
		page.Labelled(row.FindMatcher(paidLabel), words) || page.Labelled(row, words)
}

// readRow is false for a row that leads to an advertisement or into Baidu's own
// result pages.
func readRow(row *goquery.Selection, r adapter.Response) (adapter.Result, bool) {
	link := row.FindMatcher(titleLink).First()
	address, kind := target(row.AttrOr("mu", ""), link.AttrOr("href", ""))
	text, date := describe(row, r)
	return adapter.Result{
		Title: adapter.CleanText(link.Text()), URL: address, Hidden: kind == page.Counter,
		Snippet: text, PublishedAt: date, SiteName: adapter.CleanText(row.FindMatcher(site).First().Text()),
	}, kind.OfRow()
}

// describe finds the snippet and the date in front of it.
func describe(row *goquery.Selection, r adapter.Response) (text, date string) {
	for _, where := range abstracts {
		box := row.FindMatcher(where).First().Clone()
		if printed := box.FindMatcher(minor).First(); printed.Length() > 0 {
			if date = pubdate.Parse(strings.Trim(adapter.CleanText(printed.Text()), " -·"), r.ReceivedAt); date != "" {
				printed.Remove()
			}
		}
		if text = adapter.CleanText(box.Text()); text == "" {
			continue
		}
		if date == "" {
			date, text = pubdate.SplitPrefix(text, r.ReceivedAt)
		}
		return text, date
	}
	return "", ""
}

// alteredQuery gives the query that the results are for, when the page says
// that it is not the one asked; with other words it only suggests.
func alteredQuery(doc *goquery.Document, r adapter.Response) string {
	return correction.Of(doc.FindMatcher(tip), correction.Asked(doc, r.Query))
}
