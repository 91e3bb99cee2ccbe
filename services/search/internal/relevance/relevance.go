// Package relevance tells results of the query from results of somebody else's
// query. Bing answers queries that it has not cached with well-formed rows of
// other searches, status 200 and the right title (HenriGrimm/Minnow#898,
// searxng#4964, ddgs#325): nothing but the rows themselves gives them away.
package relevance

import (
	"net/url"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// Shares of rows that have a word of the query.
const (
	// enough is the share from which all rows are taken as they are.
	enough = 0.3
	// few is the share below which the page is taken for a decoy. Between
	// the two only the matching rows are kept.
	few = 0.1
)

// Verdict is what became of the rows.
type Verdict struct {
	// Kept are the rows to be used, in their order.
	Kept []adapter.Result
	// Share of rows that have a word of the query; 1 when not judged.
	Share float64
	// Decoy says that the rows answer another query.
	Decoy bool
}

// Judge compares rows with the query that they are for. Queries without a
// distinctive word (operators only, one or two letters) are not judged.
//
// A row matches when title, snippet or address has one distinctive word of the
// query; for Chinese, Japanese and Korean, one pair of neighbouring characters.
func Judge(query string, rows []adapter.Result) Verdict {
	words := distinctive(query)
	if len(rows) == 0 || len(words) == 0 {
		return Verdict{Kept: rows, Share: 1}
	}
	var matching []adapter.Result
	for _, r := range rows {
		if matches(words, r) {
			matching = append(matching, r)
		}
	}
	share := float64(len(matching)) / float64(len(rows))
	switch {
	case share >= enough:
		return Verdict{Kept: rows, Share: share}
	case share >= few:
		return Verdict{Kept: matching, Share: share}
	}
	return Verdict{Share: share, Decoy: true}
}

func matches(words []string, r adapter.Result) bool {
	text := termsOf(r.Title + " " + r.Snippet + " " + readable(r.URL))
	for _, w := range words {
		if text.has(w) {
			return true
		}
	}
	return false
}

// readable undoes percent encoding, so that words in a path can be compared.
func readable(address string) string {
	if plain, err := url.PathUnescape(address); err == nil {
		address = plain
	}
	return strings.NewReplacer("/", " ", "-", " ", "_", " ", ".", " ", "+", " ").Replace(address)
}
