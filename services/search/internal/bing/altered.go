package bing

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

var (
	requery   = cascadia.MustCompile(`#sp_requery`)
	recourse  = cascadia.MustCompile(`#sp_recourse`)
	notices   = cascadia.MustCompile(`li.b_msg, li.b_ans`)
	queryLink = cascadia.MustCompile(`a[href*="/search?"]`)
	strong    = cascadia.MustCompile(`strong, em, b`)
)

// showing are the words with which Bing says that it searched for something
// else. They only count in notices of the list; "did you mean" is none of them,
// since the results are then still those of the query asked.
var showing = []string{
	"including results for", "showing results for", "results are included for",
	"einschließlich ergebnisse für", "es werden ergebnisse für", "résultats inclus pour", "se incluyen resultados de",
	"包括以下内容的结果", "包含以下内容的结果", "已显示以下内容的结果", "显示的是以下内容的结果",
}

// asking are the words of a mere suggestion.
var asking = []string{"did you mean", "meinten sie", "essayez avec", "quizás quisiste decir", "你是不是要找", "您是不是要找"}

// maxNoticeRunes tells a notice from an answer that happens to use its words.
const maxNoticeRunes = 600

// alteredQuery gives the query that the results are for, when the list says
// that it is not the one asked: a corrected spelling, or a quotation searched
// without its marks.
func alteredQuery(results *goquery.Selection) string {
	// The block's first part holds the correction; when it only says that
	// nothing was found for the query as written, the second part does.
	if block := results.FindMatcher(requery).First(); block.Length() > 0 && !says(block, asking) {
		if q := linkedQuery(block); q != "" {
			return q
		}
		if q := linkedQuery(results.FindMatcher(recourse).First()); q != "" {
			return q
		}
	}
	altered := ""
	results.ChildrenMatcher(notices).EachWithBreak(func(_ int, s *goquery.Selection) bool {
		if says(s, showing) {
			altered = linkedQuery(s)
		}
		return altered == ""
	})
	return altered
}

func says(s *goquery.Selection, phrases []string) bool {
	words := strings.ToLower(adapter.CleanText(s.Text()))
	if utf8.RuneCountInString(words) > maxNoticeRunes {
		return false
	}
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(words, p) })
}

// linkedQuery reads the query of a notice: that of its first search link, else
// what it sets in bold.
func linkedQuery(s *goquery.Selection) string {
	link := s.FindMatcher(queryLink).First()
	if q := adapter.CleanText(link.Text()); q != "" {
		return q
	}
	if u, err := url.Parse(link.AttrOr("href", "")); err == nil {
		if q := adapter.CleanText(u.Query().Get("q")); q != "" {
			return q
		}
	}
	return adapter.CleanText(s.FindMatcher(strong).First().Text())
}
