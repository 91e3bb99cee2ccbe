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

const (
	// enough is the share of matching rows from which all rows are taken as
	// they are.
	enough = 0.3
	// few is the share below which the page is taken for a decoy. Between the
	// two only the matching rows are kept, if one of them matches well.
	few = 0.1
	// well is how many words of the query make a match that is no accident: of
	// one row, where few rows match, and of all rows together where the query
	// has manyWords, or someWords and most of several rows match.
	well      = 2
	someWords = 3
	manyWords = 4
	most      = 0.9
	several   = 3
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
// Words that stand in texts of every kind (best, 2026, 教程) count only in
// queries that have no others.
func Judge(query string, rows []adapter.Result) Verdict {
	return judge(query, rows, textsOf(rows))
}

// textsOf gives the words of each row.
func textsOf(rows []adapter.Result) []terms {
	texts := make([]terms, len(rows))
	for i, r := range rows {
		texts[i] = termsOf(r.Title + " " + r.Snippet + " " + readable(r.URL))
	}
	return texts
}

// judge is Judge for rows whose words are known.
func judge(query string, rows []adapter.Result, texts []terms) Verdict {
	words := distinctive(query)
	if len(rows) == 0 || len(words) == 0 {
		return Verdict{Kept: rows, Share: 1}
	}
	var matching []adapter.Result
	covered := map[string]bool{}
	best, scripts := 0, script(0)
	for i, r := range rows {
		scripts |= texts[i].scripts
		found := 0
		for _, w := range words {
			if texts[i].has(w) {
				covered[w] = true
				found++
			}
		}
		if found > 0 {
			matching = append(matching, r)
		}
		best = max(best, found)
	}
	share := float64(len(matching)) / float64(len(rows))
	switch {
	case share < few, len(covered) < needed(words, scripts, len(matching), len(rows)):
		return Verdict{Share: share, Decoy: true}
	case share >= enough:
		return Verdict{Kept: rows, Share: share}
	case best < min(well, len(words)):
		return Verdict{Share: share, Decoy: true}
	}
	return Verdict{Kept: matching, Share: share}
}

// needed is how many words of the query all rows together must have: a single
// one that stands in every row, in its boilerplate or because the engine looked
// for that word alone, is no answer to many. Words of a script that no row uses are
// left out: a Chinese question about React may well be answered in English.
func needed(words []string, scripts script, matching, rows int) int {
	comparable := 0
	for _, w := range words {
		if scriptOf(firstRune(w))&scripts != 0 {
			comparable++
		}
	}
	everywhere := rows >= several && float64(matching) >= most*float64(rows)
	if comparable >= manyWords || comparable >= someWords && everywhere {
		return well
	}
	return 1
}

// readable undoes percent encoding, so that words in a path can be compared.
func readable(address string) string {
	if plain, err := url.PathUnescape(address); err == nil {
		address = plain
	}
	return strings.NewReplacer("/", " ", "-", " ", "_", " ", ".", " ", "+", " ").Replace(address)
}
