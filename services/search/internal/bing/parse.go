package bing

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
	list      = cascadia.MustCompile(`#b_results`)
	organic   = cascadia.MustCompile(`li.b_algo`)
	paid      = cascadia.MustCompile(`.b_ad, .b_adTop, .b_adMiddle, .b_adBottom, .b_adLastChild`)
	paidPart  = cascadia.MustCompile(`.b_adSlug, .b_adlabel, .b_ad, .b_adTop, .b_adMiddle, .b_adBottom`)
	words     = cascadia.MustCompile(`h2, p, a, cite, strong, li, .b_deep, .b_deepdesk, .b_vList, .b_factrow`)
	titleLink = cascadia.MustCompile(`h2 a[href]`)
	siteLink  = cascadia.MustCompile(`.b_tpcn a[href]`)
	inner     = cascadia.MustCompile(`li, .b_deep, .b_deepdesk, .b_vList`)
	clamped   = cascadia.MustCompile(`p[class^="b_lineclamp"], p[class*=" b_lineclamp"]`)
	captionP  = cascadia.MustCompile(`.b_caption p`)
	caption   = cascadia.MustCompile(`.b_caption`)
	slug      = cascadia.MustCompile(`.b_algoSlug`)
	noise     = cascadia.MustCompile(`.algoSlug_icon, .b_attribution, .b_factrow, script, style`)
	dateSpan  = cascadia.MustCompile(`span.news_dt`)
	image     = cascadia.MustCompile(`img[alt]`)
)

// Parse implements adapter.Adapter.
func (a *Adapter) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return page.Read(r, readList)
}

// readList reads the list's direct children only: answers above and between
// the results have lists and headings of their own.
func readList(doc *goquery.Document, r adapter.Response) (adapter.Page, outcome.Outcome) {
	results := doc.FindMatcher(list).First()
	if results.Length() == 0 {
		if cards := doc.FindMatcher(newsCard); cards.Length() > 0 {
			return readNews(cards, r)
		}
		if saysNoneElsewhere(doc, r) {
			return none()
		}
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of results")
	}
	if saysNone(results.ChildrenMatcher(nothing), correction.Asked(doc, r.Query)) {
		return none()
	}
	var rows adapter.Rows
	results.ChildrenMatcher(organic).Each(func(_ int, li *goquery.Selection) {
		if !isPaid(li) {
			readRow(&rows, li, r)
		}
	})
	if rows.Seen() == 0 && saysNoneElsewhere(doc, r) {
		return none()
	}
	return rows.Page(alteredQuery(doc, results, r))
}

// isPaid reports whether a row is an advertisement: by its class, by one of a part,
// or by its label.
func isPaid(row *goquery.Selection) bool {
	return row.IsMatcher(paid) || row.FindMatcher(paidPart).Length() > 0 || page.Labelled(row, words)
}

func readRow(rows *adapter.Rows, li *goquery.Selection, r adapter.Response) {
	title, href := heading(li)
	address, kind := target(href)
	if !kind.OfRow() {
		return
	}
	snippet, date := describe(li, r)
	rows.Add(adapter.Result{Title: title, URL: address, Snippet: snippet, PublishedAt: date})
}

// heading finds the row's own title and link, past those of deep links.
func heading(li *goquery.Selection) (title, href string) {
	link := own(li, li.FindMatcher(titleLink))
	if link.Length() == 0 {
		return "", ""
	}
	href = link.AttrOr("href", "")
	site := li.FindMatcher(siteLink).First()
	for _, candidate := range []string{
		link.Text(), link.AttrOr("aria-label", ""), link.AttrOr("title", ""),
		link.FindMatcher(image).AttrOr("alt", ""), site.AttrOr("aria-label", ""),
	} {
		if title = adapter.CleanText(candidate); title != "" {
			break
		}
	}
	return title, href
}

// own is the first of found that belongs to the row itself.
func own(li, found *goquery.Selection) *goquery.Selection {
	return found.FilterFunction(func(_ int, s *goquery.Selection) bool {
		nested := s.ParentsUntilSelection(li).FilterMatcher(inner)
		return nested.Length() == 0
	}).First()
}

// describe finds the snippet and the date in front of it.
func describe(li *goquery.Selection, r adapter.Response) (snippet, date string) {
	for _, m := range []goquery.Matcher{clamped, captionP, caption, slug} {
		if box := own(li, li.FindMatcher(m)); box.Length() > 0 {
			if snippet, date = text(box, r); snippet != "" {
				return snippet, date
			}
		}
	}
	return "", ""
}

func text(box *goquery.Selection, r adapter.Response) (snippet, date string) {
	box = box.Clone()
	box.FindMatcher(noise).Remove()
	printed := box.FindMatcher(dateSpan).First()
	if printed.Length() > 0 {
		date = pubdate.Parse(adapter.CleanText(printed.Text()), r.ReceivedAt)
		printed.Remove()
	}
	snippet = strings.TrimSpace(strings.TrimPrefix(adapter.CleanText(box.Text()), "·"))
	if date == "" {
		date, snippet = pubdate.SplitPrefix(snippet, r.ReceivedAt)
	}
	return snippet, date
}
