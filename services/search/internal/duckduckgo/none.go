package duckduckgo

import (
	"regexp"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/correction"
	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
)

var (
	anyLink    = cascadia.MustCompile(`a`)
	markOrText = cascadia.MustCompile(`.result--no-result, .no-results, div, p, span, td`)
	paid       = cascadia.MustCompile(`.result--ad, .results--ad, .results--ads, .result-sponsored`)
	paidPart   = cascadia.MustCompile(`.badge--ad, .badge--ad-wrap, .result--ad, .result-sponsored`)
	// words are where a row's page speaks.
	words = cascadia.MustCompile(`.result__a, .result__snippet, .result__url, .result-link, .result-snippet, .link-text, b`)
	// zeroClick are answers beside the results: what they say is not about them.
	zeroClick = cascadia.MustCompile(`[class*="zci"], [id*="zero_click"], [class*="zero-click"], [class*="module"]`)
)

// isPaid reports whether an element is an advertisement or within one.
func isPaid(s *goquery.Selection) bool {
	row := s.ClosestMatcher(webResult)
	return s.ClosestMatcher(paid).Length() > 0 || row.FindMatcher(paidPart).Length() > 0 || page.Labelled(row, words)
}

// noneWords are a whole text that says that there are no results, and nothing
// else but for which query.
var noneWords = regexp.MustCompile(`^(?:(?:sorry, )?(?:there (?:are|were) )?no results(?: (?:were )?found)?(?: for .+)?` +
	`|keine (?:ergebnisse|resultate)(?: für .+?)?(?: gefunden)?(?: für .+)?` +
	`|aucun résultat(?: trouvé)?(?: pour .+)?|pas de résultats?(?: pour .+)?` +
	`|(?:no hay|sin) resultados(?: para .+)?|no se (?:han encontrado|encontraron) resultados(?: para .+)?` +
	`|nessun risultato(?: trovato)?(?: per .+)?|nenhum resultado(?: encontrado)?(?: para .+)?|geen resultaten(?: gevonden)?(?: voor .+)?` +
	`|(?:没有|沒有|未|找不)[找到]{1,2}.{0,200}?[结結]果|(?:没有|沒有)(?:搜索|搜尋)?[结結]果|.{0,200}に一致する.{1,20}見つかりません(?:でした)?)[.!。]*$`)

// moreWords are those of the end of a list: there are no more results than the
// ones above, which may be there and not understood.
var moreWords = regexp.MustCompile(`\bmore\b|weitere|\bautres?\b|\bplus de\b|\bm[aá]s\b|\bmais\b|\baltr[oi]\b|\boutr[oa]s?\b|verdere|\bmeer\b` +
	`|\bfler|więcej|další|ďalšie|\btöbb|\bmai sunt\b|enempää|daha fazla|больше|більше|άλλα|مزيد|עוד|เพิ่มเติม|\bthêm\b|더 ?이상|更多|其他|これ以上|もうありません`)

// maxNoneBytes is how long such a text may be; the query is in it.
const maxNoneBytes = 4 * maxQueryRunes

// saysNone reports whether a page without a readable row says that there are no
// results: among found there is a mark of it, and there is nothing that may be a
// row of a layout that is not understood. asked is the query, whose words say
// nothing about the page.
func saysNone(in *goquery.Selection, found cascadia.Selector, asked string) bool {
	marks := in.FindMatcher(found).FilterFunction(func(_ int, s *goquery.Selection) bool { return isMark(s, asked) })
	if marks.Length() == 0 {
		return false
	}
	rows := in.FindMatcher(anyLink).FilterFunction(func(_ int, a *goquery.Selection) bool {
		return mayBeRow(a) && !marks.Contains(a.Nodes[0])
	})
	return rows.Length() == 0
}

// isMark reports whether an element says, by its class or as a whole text, that
// the web has no results. The words of a link may be the title of a page.
func isMark(s *goquery.Selection, asked string) bool {
	text, ok := shortText(s.Nodes[0])
	text, asked = strings.ToLower(adapter.CleanText(text)), strings.ToLower(adapter.CleanText(asked))
	if !ok || !s.IsMatcher(noResult) && !isNone(s, text, asked) || saysMore(text, asked) {
		return false
	}
	return page.SaysNone(s, asked) != "" && s.ClosestMatcher(zeroClick).Length() == 0 && !isPaid(s) && correction.Of(s, asked) == ""
}

// isNone reports whether the whole text of an element says that there are no
// results. One that stands in the query may be the query, shown once more.
func isNone(s *goquery.Selection, text, asked string) bool {
	return noneWords.MatchString(text) && !strings.Contains(asked, strings.TrimRight(text, ".!。")) &&
		s.ClosestMatcher(anyLink).Length() == 0 && s.FindMatcher(anyLink).Length() == 0
}

// saysMore reports whether a text has words of the end of a list, other than in a
// query that is more than such a word and that it names behind its own words.
func saysMore(text, asked string) bool {
	if word := moreWords.FindString(asked); word != "" && word != asked && !strings.HasPrefix(text, asked) {
		text = strings.ReplaceAll(text, asked, " ")
	}
	return moreWords.MatchString(text)
}

// mayBeRow reports whether a link may be that of a row: it is no advertisement, no
// notice, not the end of the list, and none to DuckDuckGo's own pages, searches
// aside.
func mayBeRow(a *goquery.Selection) bool {
	if adapter.CleanText(a.Text()) == "" || isPaid(a) || a.ClosestMatcher(meant).Length() > 0 {
		return false
	}
	address, kind := target(a.AttrOr("href", ""))
	if kind == page.Target {
		u, _ := page.Resolve(home, address)
		return !page.Within(u, "duckduckgo.com") && !strings.HasPrefix(address, endOfList)
	}
	return kind != page.Paid
}

// shortText is the text of an element; false when it is longer than a mark.
func shortText(n *html.Node) (string, bool) {
	const maxNodes = 60
	var b strings.Builder
	nodes := 0
	var walk func(*html.Node) bool
	walk = func(n *html.Node) bool {
		if nodes++; nodes > maxNodes {
			return false
		}
		if page.Hidden(n) {
			return true
		}
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		for c := n.FirstChild; c != nil && b.Len() <= maxNoneBytes; c = c.NextSibling {
			if !walk(c) {
				return false
			}
		}
		return b.Len() <= maxNoneBytes
	}
	ok := walk(n)
	return b.String(), ok
}
