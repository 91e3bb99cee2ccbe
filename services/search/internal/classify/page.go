package classify

import (
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var (
	titles    = cascadia.MustCompile(`title, h1`)
	boxes     = cascadia.MustCompile(`input[value]`)
	noscripts = cascadia.MustCompile(`noscript`)
	scripts   = cascadia.MustCompile(`script`)
)

// unseen are elements whose text browsers do not show.
var unseen = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Head: true,
}

// Unseen reports whether browsers show nothing of a node, whatever it carries.
func Unseen(n *html.Node) bool { return n.Type == html.ElementNode && unseen[n.DataAtom] }

// page is what a page shows, in lower case.
type page struct {
	doc      *goquery.Document
	headings []string
	text     string
	// length is how many characters text has.
	length int
	// asked is what stands in its fields: words of the query say nothing about
	// the page.
	asked string
}

func look(doc *goquery.Document) page {
	p := page{doc: doc, text: folded(visibleText(doc))}
	p.length = utf8.RuneCountInString(p.text)
	doc.FindMatcher(titles).Each(func(_ int, s *goquery.Selection) { p.headings = append(p.headings, folded(s.Text())) })
	if p.length <= sparse {
		doc.FindMatcher(boxes).Each(func(_ int, s *goquery.Selection) { p.asked += folded(s.AttrOr("value", "")) + "\n" })
	}
	return p
}

// folded writes blanks, cases and apostrophes alike.
func folded(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.Join(strings.Fields(s), " ")), "’", "'")
}

// says reports whether a text of the page has one of some words, other than as
// words of the query.
func (p page) says(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) && !strings.Contains(p.asked, w) {
			return true
		}
	}
	return false
}

// visibleText is the text of the page without what browsers hide.
func visibleText(doc *goquery.Document) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			b.WriteByte(' ')
			return
		}
		if Unseen(n) {
			return
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	for _, n := range doc.Nodes {
		walk(n)
	}
	return b.String()
}
