package bing

import (
	"net/url"
	"strconv"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pubdate"
)

var (
	newsCard    = cascadia.MustCompile(`div.newsitem`)
	newsTitle   = cascadia.MustCompile(`a.title`)
	newsSnippet = cascadia.MustCompile(`div.snippet`)
	newsAge     = cascadia.MustCompile(`div.source span[aria-label]`)
	newsAuthor  = cascadia.MustCompile(`a[data-author]`)
)

// noNews are markets without news, and the one whose news are sent instead.
var noNews = map[string]string{"zh-CN": "en-HK"}

// newsMarket is the market whose news are asked for.
func newsMarket(market string, q adapter.Query, dropped *adapter.Dropped) string {
	other, none := noNews[market]
	if !none {
		return market
	}
	if q.Language != "" {
		dropped.Add(adapter.OptionLanguage)
	}
	if q.Region != "" {
		dropped.Add(adapter.OptionRegion)
	}
	return other
}

// newsIntervals are the windows that Bing's news know.
var newsIntervals = map[adapter.Window]string{adapter.Day: "7", adapter.Week: "8", adapter.Month: "9"}

// newsParams are those of the list that the news page loads as one scrolls: it
// needs no scripts. Its pages have as many rows as Bing likes.
func newsParams(text, market string, q adapter.Query, dropped *adapter.Dropped) string {
	if q.Count > pageSize {
		dropped.Add(adapter.OptionMaxResults)
	}
	params := "q=" + url.QueryEscape(text) + "&InfiniteScroll=1&first=" + strconv.Itoa((q.PageNumber()-1)*pageSize+1) +
		"&SFX=" + strconv.Itoa(q.PageNumber()-1) + "&form=PTFTNR" +
		"&mkt=" + url.QueryEscape(market) + "&setlang=" + url.QueryEscape(languageOf(market))
	if q.Freshness.IsZero() {
		return params
	}
	interval, known := newsIntervals[q.Freshness.Window]
	if !known {
		dropped.Add(adapter.OptionFreshness)
		return params
	}
	return params + "&qft=" + url.QueryEscape(`interval="`+interval+`"`)
}

// readNews reads the cards of the news list. A list without cards says nothing:
// Bing has no mark for "no news" that we know.
func readNews(cards *goquery.Selection, r adapter.Response) (adapter.Page, outcome.Outcome) {
	var rows adapter.Rows
	cards.Each(func(_ int, card *goquery.Selection) {
		link := card.FindMatcher(newsTitle).First()
		address, kind := target(link.AttrOr("href", ""))
		if !kind.OfRow() || isPaid(card) {
			return
		}
		rows.Add(adapter.Result{
			Title:       adapter.CleanText(link.Text()),
			URL:         address,
			Snippet:     adapter.CleanText(card.FindMatcher(newsSnippet).First().Text()),
			PublishedAt: pubdate.Parse(adapter.CleanText(card.FindMatcher(newsAge).First().AttrOr("aria-label", "")), r.ReceivedAt),
			SiteName:    adapter.CleanText(card.FindMatcher(newsAuthor).First().AttrOr("data-author", "")),
		})
	})
	return rows.Page("")
}
