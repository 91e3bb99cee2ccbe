package duckduckgo

import (
	"regexp"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
)

// noneWords are a whole text that says that there are no results, and nothing
// else but for which query.
var noneWords = regexp.MustCompile(`^(?:(?:sorry, )?(?:there (?:are|were) )?no (?:more )?results(?: (?:were )?found)?(?: for .+)?` +
	`|keine (?:weiteren )?(?:ergebnisse|resultate)(?: für .+?)?(?: gefunden)?(?: für .+)?` +
	`|aucun (?:autre )?résultat(?: trouvé)?(?: pour .+)?|pas de résultats?(?: pour .+)?` +
	`|(?:no hay|sin) (?:más )?resultados(?: para .+)?|no se (?:han encontrado|encontraron) (?:más )?resultados(?: para .+)?` +
	`|nessun (?:altro )?risultato(?: trovato)?(?: per .+)?|nenhum resultado(?: encontrado)?(?: para .+)?|geen (?:verdere )?resultaten(?: gevonden)?(?: voor .+)?` +
	`|(?:没有|沒有|未|找不)[找到]{1,2}.{0,200}?[结結]果|(?:没有|沒有)(?:更多)?(?:搜索|搜尋)?[结結]果|.{0,200}に一致する.{1,20}見つかりません(?:でした)?)[.!。]*$`)

// maxNoneBytes is how long such a text may be; the query is in it.
const maxNoneBytes = 4 * maxQueryRunes

// saysNone reports whether an element is a mark of "no results", by its class or
// by its words. The words of a link may be the title of a page.
func saysNone(s *goquery.Selection) bool {
	if s.IsMatcher(noResult) {
		return true
	}
	text, ok := shortText(s.Nodes[0])
	return ok && noneWords.MatchString(strings.ToLower(adapter.CleanText(text))) &&
		s.ClosestMatcher(anyLink).Length() == 0 && s.FindMatcher(anyLink).Length() == 0
}

// saysNoneAlone is saysNone for a page without a list: there the class has to say
// it, and with other words than those that end a list.
func saysNoneAlone(s *goquery.Selection) bool {
	return s.IsMatcher(noResult) && !strings.Contains(strings.ToLower(adapter.CleanText(s.Text())), "no more")
}

var anyLink = cascadia.MustCompile(`a`)

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

// noneBeforeRows reports whether a mark of "no results" comes before the first
// row, and before the first link that leads to a page; what is paid for is no
// row. A mark after those may be the end of a list that is not understood.
func noneBeforeRows(found *goquery.Selection, row, paid cascadia.Selector, isMark func(*goquery.Selection) bool) bool {
	none := false
	found.EachWithBreak(func(_ int, s *goquery.Selection) bool {
		if none = isMark(s); none {
			return false
		}
		return !s.IsMatcher(row) && !leadsOut(s) || s.ClosestMatcher(paid).Length() > 0
	})
	return none
}

func leadsOut(link *goquery.Selection) bool {
	address, kind := target(link.AttrOr("href", ""))
	return kind == page.Target && !strings.HasPrefix(address, endOfList)
}
