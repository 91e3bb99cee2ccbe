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
	paidBadge  = cascadia.MustCompile(`.badge--ad, .badge--ad-wrap`)
	// zeroClick is the answer above the results: what it says is not about them.
	zeroClick = cascadia.MustCompile(`[class*="zci"], [id*="zero_click"], [class*="zero-click"]`)
)

// isPaid reports whether an element is an advertisement or within one.
func isPaid(s *goquery.Selection) bool {
	return s.ClosestMatcher(paid).Length() > 0 || s.ClosestMatcher(webResult).FindMatcher(paidBadge).Length() > 0
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
var moreWords = regexp.MustCompile(`\bmore\b|weitere|\bautres?\b|\bm[aá]s\b|\bmais\b|\baltr[oi]\b|\boutr[oa]s?\b|verdere|\bmeer\b|更多|これ以上`)

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
	text = strings.ToLower(adapter.CleanText(text))
	if !ok || text == "" || s.ClosestMatcher(zeroClick).Length() > 0 || isPaid(s) || correction.Of(s, asked) != "" ||
		moreWords.MatchString(strings.ReplaceAll(text, strings.ToLower(adapter.CleanText(asked)), " ")) {
		return false
	}
	return s.IsMatcher(noResult) ||
		noneWords.MatchString(text) && s.ClosestMatcher(anyLink).Length() == 0 && s.FindMatcher(anyLink).Length() == 0
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
