package extract

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// How the main content is found, in three steps:
//
//  1. measure: each element gets the letters below it, those in links, and
//     those in prose (blocks of running text);
//  2. descend: from the body, or an article element that holds most of the
//     prose, into the child that holds nearly all of it, while there is one;
//  3. prune: below that, blocks that are mostly links or are named like
//     something beside the content are left out.
//
// A page without prose (a shop, an index) is its main element or body.

// Thresholds, in letters; a CJK character counts as cjkWeight letters.
const (
	cjkWeight   = 2
	minProse    = 25   // letters a block needs to be prose
	enoughProse = 200  // prose below which a page has no article
	dominant    = 0.90 // share of the prose a child needs to be descended into
	articleHas  = 0.50 // share of the prose an article element needs
	markedHas   = 0.10 // share of the prose an element marked as articleBody needs
	linkBlock   = 0.50 // share of letters in links that makes a block navigation
	besideMax   = 0.40 // share of the prose up to which a name can discard a block
)

// mass is what step 1 measures of an element.
type mass struct {
	chars, links, prose int
}

// content is the part of a page that its readers came for.
type content struct {
	node    *html.Node
	drop    map[*html.Node]bool
	mass    map[*html.Node]mass
	hidden  int // letters left out because they are hidden
	article bool
}

// findContent runs the three steps.
func (d *Document) findContent() *content {
	c := &content{drop: map[*html.Node]bool{}, mass: map[*html.Node]mass{}}
	c.measure(d.body, false)
	whole := c.mass[d.body]
	c.node = d.body
	c.article = d.head.article
	if whole.prose >= enoughProse || c.article {
		c.node = c.descend(c.start(d.body))
		if !c.article && c.mass[c.node].chars*100 < whole.chars*35 {
			c.node = c.landmark(d.body)
		}
	} else {
		c.node = c.landmark(d.body)
	}
	c.prune(c.node)
	return c
}

// text renders the content.
func (c *content) text() string {
	var w textWriter
	w.write(c.node, func(n *html.Node) bool { return c.drop[n] })
	return w.String()
}

// measure fills in mass below n, drops what is not seen or frames the site,
// and gives the letters of n that belong to no block of its own.
func (c *content) measure(n *html.Node, inLink bool) (own mass) {
	var total mass
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		switch {
		case k.Type == html.TextNode:
			m := mass{chars: letters(k.Data)}
			if inLink {
				m.links = m.chars
			}
			own.add(m)
			total.add(m)
		case k.Type != html.ElementNode || isUnread(k):
		case isHidden(k) && n.DataAtom != atom.Html:
			c.drop[k] = true
			c.hidden += letters(rawText(k))
		case isFrame(k):
			c.drop[k] = true
		default:
			kidOwn := c.measure(k, inLink || k.DataAtom == atom.A)
			if breaks(k.DataAtom) == 0 && k.DataAtom != atom.Br {
				own.add(kidOwn)
			}
			total.add(c.mass[k])
		}
	}
	if breaks(n.DataAtom) > 0 {
		if plain := own.chars - own.links; plain >= minProse && plain > own.links {
			total.prose += plain
		}
	}
	c.mass[n] = total
	return own
}

func (m *mass) add(o mass) {
	m.chars += o.chars
	m.links += o.links
	m.prose += o.prose
}

// start is the element the descent begins at: the one element marked as the
// body of an article, or the one article element that holds most of the prose,
// else the main element or the body.
func (c *content) start(body *html.Node) *html.Node {
	all := float64(c.mass[body].prose)
	var marked, article *html.Node
	for n := range body.Descendants() {
		if n.Type != html.ElementNode || c.mass[n].prose < minProse {
			continue
		}
		if strings.Contains(attr(n, "itemprop"), "articleBody") && (marked == nil || c.mass[n].prose > c.mass[marked].prose) {
			marked = n
		}
		if n.DataAtom == atom.Article && (article == nil || c.mass[n].prose*9 > c.mass[article].prose*10) {
			article = n
		}
	}
	switch {
	case marked != nil && float64(c.mass[marked].prose) >= markedHas*all:
		return marked
	case article != nil && float64(c.mass[article].prose) >= articleHas*all:
		return article
	default:
		return c.landmark(body)
	}
}

// landmark is the main element, where it holds enough of the page.
func (c *content) landmark(body *html.Node) *html.Node {
	for n := range body.Descendants() {
		if n.Type == html.ElementNode && (n.DataAtom == atom.Main || attr(n, "role") == "main") &&
			c.mass[n].chars*100 >= c.mass[body].chars*35 {
			return n
		}
	}
	return body
}

// descend follows the prose.
func (c *content) descend(n *html.Node) *html.Node {
	for {
		var best *html.Node
		for k := n.FirstChild; k != nil; k = k.NextSibling {
			if k.Type == html.ElementNode && isContainer(k.DataAtom) && !c.drop[k] &&
				(best == nil || c.mass[k].prose > c.mass[best].prose) {
				best = k
			}
		}
		if best == nil || float64(c.mass[best].prose) < dominant*float64(c.mass[n].prose) {
			return n
		}
		n = best
	}
}

func isContainer(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Pre, atom.Blockquote, atom.Ul, atom.Ol, atom.Dl, atom.Li, atom.Figure, atom.Details,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.A:
		return false
	}
	return true
}

// prune leaves out blocks beside the content.
func (c *content) prune(n *html.Node) {
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if k.Type != html.ElementNode || c.drop[k] || isUnread(k) {
			continue
		}
		if c.isBeside(k) {
			c.drop[k] = true
			continue
		}
		c.prune(k)
	}
}

func (c *content) isBeside(n *html.Node) bool {
	m, all := c.mass[n], c.mass[c.node]
	small := float64(m.prose) <= besideMax*float64(all.prose)
	switch n.DataAtom {
	case atom.Form, atom.Fieldset:
		return small && all.prose > 0
	case atom.Header:
		return !c.article && n.Parent.DataAtom == atom.Body && small
	case atom.Div, atom.Section, atom.Ul, atom.Ol, atom.Table, atom.Dl, atom.P, atom.Span:
	default:
		return false
	}
	if small && all.prose >= enoughProse && namedBeside(n) {
		return true
	}
	if breaks(n.DataAtom) == 0 || m.chars == 0 {
		return false
	}
	if all.prose >= enoughProse && c.article {
		return float64(m.links) > linkBlock*float64(m.chars) && m.prose*4 < m.chars && n.DataAtom != atom.P
	}
	return false
}

// besideWords are parts of class and id that name what stands beside the
// content.
var besideWords = []string{
	"share", "sharing", "social", "related", "recommend", "newsletter", "subscribe", "sidebar", "breadcrumb",
	"advert", "sponsor", "promo", "cookie", "consent", "popup", "modal", "pagination", "pager", "toolbar",
	"menu", "navbar", "footer", "comment", "disqus", "replies", "respond", "author-bio", "authorbox", "widget", "outbrain",
	"taboola", "masthead", "banner", "tags", "taglist", "byline", "read-more", "readmore", "more-stories", "trending", "popular",
}

func namedBeside(n *html.Node) bool {
	for i := range n.Attr {
		if key := n.Attr[i].Key; key != "class" && key != "id" {
			continue
		}
		val := strings.ToLower(n.Attr[i].Val)
		for _, w := range besideWords {
			if strings.Contains(val, w) {
				return true
			}
		}
	}
	return false
}

// letters counts the runes of s that are no white space, CJK by weight.
func letters(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r <= ' ' || r == 0xa0:
		case r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			n += cjkWeight
		default:
			n++
		}
	}
	return n
}

// rawText is all text below n that a browser would show were n not hidden.
func rawText(n *html.Node) string {
	var w textWriter
	w.write(n, keepAll)
	return w.String()
}
