package baidu

import (
	"regexp"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
)

var (
	nothing = cascadia.MustCompile(`[class*="content_none"], [class*="nors"]`)
	// aside are places that are not those of the web results.
	aside = cascadia.MustCompile(`#content_right, #con-ar, #rs, #rs_new`)
	ofRow = cascadia.MustCompile(`.c-container`)
	// rowPart and rowPlace are what a row of a changed layout has, and where it has
	// its link.
	rowPart  = cascadia.MustCompile(`a, [mu]`)
	rowPlace = cascadia.MustCompile(`h3, #content_left`)
)

// noneWords are Baidu's for a query without results: "未找到相关结果",
// "没有找到与“…”相关的网页", "没有找到该URL". They count in the box that is made for
// them alone, and of the web alone: "未找到相关图片" is about pictures.
var noneWords = regexp.MustCompile(`(?:没有找到|未找到)(?:该\s?URL|您要|(?:(?:与|和|同).{1,300})?相关的?(?:结果|网页|内容|信息|页面))`)

// noneClass is the box for queries without results. Its class names, too, only
// count by their beginning.
var noneClass = regexp.MustCompile(`(?:^|\s)(?:content_none|nors(?:[-_\s]|$))`)

// saysNone reports whether a page without a readable row says that the web has
// none: in the place of the web results, with nothing beside it that may be a row
// of a layout that is not understood.
func saysNone(doc *goquery.Document, asked string) bool {
	marks := doc.FindMatcher(nothing).FilterFunction(func(_ int, s *goquery.Selection) bool {
		return noneClass.MatchString(s.AttrOr("class", "")) && s.ClosestMatcher(aside).Length() == 0 &&
			s.ClosestMatcher(ofRow).Length() == 0 && noneWords.MatchString(page.SaysNone(s, asked))
	})
	if marks.Length() == 0 {
		return false
	}
	rows := doc.FindMatcher(rowPart).FilterFunction(func(_ int, part *goquery.Selection) bool {
		return mayBeOfRow(part) && !marks.Contains(part.Nodes[0])
	})
	return rows.Length() == 0
}

// mayBeOfRow reports whether an element may be part of a row: it carries the
// address that a row leads to, or is a link that stands in the list or in a
// heading, goes through Baidu's counter or leads nowhere.
func mayBeOfRow(s *goquery.Selection) bool {
	if _, carries := s.Attr("mu"); !carries && s.ClosestMatcher(rowPlace).Length() == 0 {
		href, leads := s.Attr("href")
		if _, kind := kindOf(href); kind != page.Counter && (leads || adapter.CleanText(s.Text()) == "") {
			return false
		}
	}
	return s.ClosestMatcher(aside).Length() == 0 && s.ClosestMatcher(paid).Length() == 0
}
