package page

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// adCounters are where engines and those they sell for count the clicks on
// advertisements. Engines show each other's, so any of them may stand on the page
// of any engine.
var adCounters = []struct {
	host *regexp.Regexp
	path *regexp.Regexp
}{
	{hostOf(`bing\.com`), pathOf(`/aclick|/aclk`)},
	{hostOf(`duckduckgo\.com`), pathOf(`/y\.js`)},
	{hostOf(`baidu\.com`), pathOf(`/baidu\.php|/aclick`)},
	{hostOf(`google\.(?:com?\.)?[a-z]{2,3}`), pathOf(`/aclk|/pagead/aclk`)},
	{hostOf(`search\.yahoo\.com`), pathOf(`/cbclk.*`)},
	{hostOf(`googleadservices\.com|ad\.doubleclick\.net|g\.doubleclick\.net|yabs\.yandex\.(?:ru|com)`), pathOf(`.*`)},
}

// hostOf matches domains and their subdomains.
func hostOf(domains string) *regexp.Regexp {
	return regexp.MustCompile(`^(?:.+\.)?(?:` + domains + `)$`)
}

func pathOf(paths string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + paths + `)/?$`) }

// isPaid goes by host and path, never by text: an organic result may well have
// "bing.com/aclick" in its address.
func isPaid(u *url.URL) bool {
	host := HostOf(u)
	for _, c := range adCounters {
		if c.path.MatchString(u.Path) && c.host.MatchString(host) {
			return true
		}
	}
	return false
}

// adLabels is what engines write on advertisements.
var adLabels = labels(`ad | advertisement | sponsored | sponsored link | sponsored result | promoted
	| anzeige | werbung | gesponsert | annonce | sponsorisé | lien sponsorisé | anuncio | patrocinado | publicidad | anúncio | publicidade
	| annuncio | sponsorizzato | advertentie | gesponsord | reklama | sponsorowane | reklam | annons | sponsrad | реклама
	| 広告 | スポンサー | 광고 | 广告 | 廣告 | 推广 | 推廣 | 商业推广 | 赞助 | 贊助 | إعلان | ממומן | quảng cáo | iklan | โฆษณา | विज्ञापन`)

func labels(list string) map[string]bool {
	m := map[string]bool{}
	for one := range strings.SplitSeq(list, "|") {
		m[letters(one)] = true
	}
	return m
}

// letters are what is left of a label when it is not to be found: in small letters,
// without dots, brackets, blanks and what nobody sees.
func letters(s string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s))
}

// maxLabelBytes is how long a label may be.
const maxLabelBytes = 200

// Labelled reports whether a row carries the label of an advertisement: an element
// of it says that and nothing else. words are the elements in which the page that
// the row leads to speaks: its title, its text, its links, its name.
func Labelled(row *goquery.Selection, words goquery.Matcher) bool {
	is := func(s string) bool { return s != "" && len(s) <= maxLabelBytes && adLabels[letters(s)] }
	var walk func(*html.Node) (text string, labelled bool)
	walk = func(n *html.Node) (string, bool) {
		var all, own strings.Builder
		for c := range n.ChildNodes() {
			switch {
			case c.Type == html.TextNode:
				own.WriteString(c.Data)
				all.WriteString(c.Data)
			case c.Type == html.ElementNode && !Hidden(c) && !words.Match(c):
				text, labelled := walk(c)
				if labelled {
					return "", true
				}
				all.WriteString(text)
			}
		}
		text := all.String()
		return text, is(own.String()) || is(text) || is(attribute(n, "aria-label"))
	}
	for _, n := range row.Nodes {
		if _, labelled := walk(n); labelled {
			return true
		}
	}
	return false
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
