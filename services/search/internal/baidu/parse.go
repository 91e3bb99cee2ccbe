package baidu

import (
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pubdate"
)

var (
	list = cascadia.MustCompile(`#content_left`)
	// organic are the results of the web index, and entries of Baidu's
	// encyclopaedia, which come in a box of their own.
	organic   = cascadia.MustCompile(`.c-container.result, .c-container.result-op[tpl^="bk_"]`)
	paid      = cascadia.MustCompile(`[data-tuiguang], .ec_wise_ad, .m[data-placeid]`)
	paidMark  = cascadia.MustCompile(`.ec-tuiguang, .ec_tuiguang_pplink, a.m[data-tuiguang]`)
	nothing   = cascadia.MustCompile(`.content_none .nors, .content_none`)
	titleLink = cascadia.MustCompile(`h3 a[href]`)
	minor     = cascadia.MustCompile(`.cos-color-text-minor, .newTimeFactor_before_abs, .c-color-gray2`)
	site      = cascadia.MustCompile(`.cosc-source-text, [class*="siteLink"], .c-showurl`)
	tip       = cascadia.MustCompile(`#super_se_tip, .hit_top_new`)
	strong    = cascadia.MustCompile(`strong`)
)

// abstracts are where the text of a row stands, the surest first. Class names
// have a part that changes with every build, so only their beginning counts.
var abstracts = []cascadia.Selector{
	cascadia.MustCompile(`[data-module="abstract"]`),
	cascadia.MustCompile(`.c-abstract`),
	cascadia.MustCompile(`[class*="content-right"]`),
	cascadia.MustCompile(`[class*="summary-text"]`),
	cascadia.MustCompile(`[class*="main-info"] .c-color-text`),
	cascadia.MustCompile(`.c-color-text, .c-span-last .c-font-normal`),
}

// Parse implements adapter.Adapter.
func (a *Adapter) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return page.Read(r, read)
}

// noneWords are Baidu's for a query without results. They count in the box that
// is made for them alone.
var noneWords = []string{"未找到相关结果", "没有找到"}

func read(doc *goquery.Document, r adapter.Response) (adapter.Page, outcome.Outcome) {
	if says(doc.FindMatcher(nothing), noneWords) {
		return adapter.Page{}, outcome.Because(outcome.EmptyVerified, "baidu says that there are no results")
	}
	results := doc.FindMatcher(list).First()
	if results.Length() == 0 {
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of results")
	}
	var rows adapter.Rows
	results.ChildrenMatcher(organic).Each(func(_ int, row *goquery.Selection) {
		if row.IsMatcher(paid) || row.FindMatcher(paidMark).Length() > 0 {
			return
		}
		rows.Add(readRow(row, r))
	})
	return rows.Page(alteredQuery(doc))
}

func readRow(row *goquery.Selection, r adapter.Response) adapter.Result {
	link := row.FindMatcher(titleLink).First()
	text, date := describe(row, r)
	return adapter.Result{
		Title: adapter.CleanText(link.Text()), URL: target(row.AttrOr("mu", ""), link.AttrOr("href", "")),
		Snippet: text, PublishedAt: date, SiteName: adapter.CleanText(row.FindMatcher(site).First().Text()),
	}
}

// target is where a row leads to: what its attribute says, else its link, unless
// that is Baidu's counter, behind which nobody sees without asking Baidu again.
func target(attribute, href string) string {
	if at := adapter.WebAddress(attribute); at != "" && !isCounter(at) {
		return at
	}
	if at := adapter.WebAddress(href); at != "" && !isCounter(at) {
		return at
	}
	return ""
}

func isCounter(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "nourl.ubs.baidu.com" {
		return true // Baidu's word for "no address"
	}
	return (host == "www.baidu.com" || host == "m.baidu.com") && (u.Path == "/link" || u.Path == "/baidu.php" || u.Path == "/s")
}

// describe finds the snippet and the date in front of it.
func describe(row *goquery.Selection, r adapter.Response) (text, date string) {
	for _, where := range abstracts {
		box := row.FindMatcher(where).First().Clone()
		if printed := box.FindMatcher(minor).First(); printed.Length() > 0 {
			if date = pubdate.Parse(strings.Trim(adapter.CleanText(printed.Text()), " -·"), r.ReceivedAt); date != "" {
				printed.Remove()
			}
		}
		if text = adapter.CleanText(box.Text()); text != "" {
			return text, date
		}
	}
	return "", ""
}

// showing are the words with which Baidu says that it searched for something
// else; with others it only suggests.
var showing = []string{"已显示", "已包含", "以下为您显示", "以下包含"}

// alteredQuery gives the query that the results are for, when the page says
// that it is not the one asked. The corrected query comes first; what is set in
// bold with a class is the link back to the one asked.
func alteredQuery(doc *goquery.Document) string {
	notice := doc.FindMatcher(tip).First()
	if !says(notice, showing) {
		return ""
	}
	altered := ""
	notice.FindMatcher(strong).EachWithBreak(func(_ int, s *goquery.Selection) bool {
		if _, marked := s.Attr("class"); !marked {
			altered = strings.Trim(adapter.CleanText(s.Text()), `"“” `)
		}
		return altered == ""
	})
	return altered
}

func says(s *goquery.Selection, words []string) bool {
	text := adapter.CleanText(s.Text())
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
