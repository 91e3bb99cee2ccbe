package bing

import (
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

// readNews reads the cards of the news list. A list without cards says nothing:
// Bing has no mark for "no news" that we know.
func readNews(cards *goquery.Selection, r adapter.Response) (adapter.Page, outcome.Outcome) {
	var rows adapter.Rows
	cards.Each(func(_ int, card *goquery.Selection) {
		link := card.FindMatcher(newsTitle).First()
		address, kind := target(link.AttrOr("href", ""))
		if kind == linkAd || kind == linkInternal {
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
