// Package generic judges pages of engines that have no adapter: it tells
// challenges and shells apart, and calls everything else unrecognised. Without
// knowing an engine's marks nobody can say that its page is empty.
package generic

import (
	"github.com/PuerkitoBio/goquery"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
)

// Parse classifies an answer. It never returns results.
func Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return page.Read(r, func(*goquery.Document, adapter.Response) (adapter.Page, outcome.Outcome) {
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no adapter reads this engine's pages")
	})
}
