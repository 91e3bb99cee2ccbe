package bing

import (
	"cmp"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/correction"
)

var (
	requery  = cascadia.MustCompile(`#sp_requery`)
	recourse = cascadia.MustCompile(`#sp_recourse`)
	notices  = cascadia.MustCompile(`li.b_msg, li.b_ans, div.b_msg`)
)

// alteredQuery gives the query that the results are for, when the list says
// that it is not the one asked: a corrected spelling, or a quotation searched
// without its marks.
func alteredQuery(doc *goquery.Document, results *goquery.Selection, r adapter.Response) string {
	asked := correction.Asked(doc, r.Query)
	if altered := correction.Of(results.ChildrenMatcher(notices), asked); altered != "" {
		return altered
	}
	// The block for spelling has a second part where the results are not those
	// of the query asked, whatever language its words are of: a mere suggestion
	// offers no way back.
	block, back := results.FindMatcher(requery).First(), results.FindMatcher(recourse).First()
	if back.Length() == 0 {
		return ""
	}
	return cmp.Or(correction.First(block, asked), correction.First(back, asked))
}
