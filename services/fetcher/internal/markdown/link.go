package markdown

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// anchor writes an a element: as a link where it leads to another page, else
// as its text.
func (w *writer) anchor(n *html.Node) {
	href := attr(n, "href")
	switch {
	case w.footnoteMark(n) || isPermalink(n, href) || isBacklink(n):
		return
	case w.mode == plain || w.inLink || href == "" || href[0] == '#':
		w.children(n)
		return
	}
	to := w.address(href)
	if to == "" {
		w.children(n)
		return
	}
	if w.mode == blocks {
		// Of a card only its heading is the link: a link is inside one block.
		if h := first(n, isHeading); h != nil {
			outer, outerTo := w.linked, w.linkedTo
			w.linked, w.linkedTo = h, to
			w.children(n)
			w.linked, w.linkedTo = outer, outerTo
			return
		}
	}
	w.link(n, to)
}

// link writes the children of n as the text of a link. A link without text
// gets the name it has for those who do not see it.
func (w *writer) link(n *html.Node, to string) {
	if w.inLink {
		w.children(n)
		return
	}
	if img := soleImage(n); img != nil {
		w.linkedImage(img, to)
		return
	}
	pushed := w.push(span{open: "[", shut: "](" + to + ")", link: true})
	if !pushed {
		w.children(n)
		return
	}
	w.inLink = true
	w.children(n)
	shown := w.pop()
	w.inLink = false
	if shown {
		return
	}
	label := linkLabel(n)
	if label == "" {
		return
	}
	w.push(span{open: "[", shut: "](" + to + ")", link: true})
	w.inLink = true
	w.text(label)
	w.pop()
	w.inLink = false
}

// linkLabel names a link without text.
func linkLabel(n *html.Node) string {
	for _, key := range [...]string{"aria-label", "title"} {
		if v := attr(n, key); strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}

// soleImage is the image that is all there is in a link.
func soleImage(n *html.Node) *html.Node {
	var img *html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) == "", c.Type == html.CommentNode:
		case c.Type != html.ElementNode || img != nil && c.DataAtom != atom.Noscript:
			return nil
		case c.DataAtom == atom.Img:
			img = c
		case c.DataAtom == atom.Noscript || c.DataAtom == atom.Source:
		case c.DataAtom == atom.Picture || c.DataAtom == atom.Span || c.DataAtom == atom.Div || c.DataAtom == atom.Figure:
			if img = soleImage(c); img == nil {
				return nil
			}
		default:
			return nil
		}
	}
	return img
}

// isPermalink tells the sign that links a heading or a term to itself.
func isPermalink(n *html.Node, href string) bool {
	if href == "" || href[0] != '#' {
		return false
	}
	if hasToken(attr(n, "class"), "headerlink", "header-anchor", "hash-link", "anchor-link", "anchorjs-link", "heading-anchor", "headinglink") {
		return !holdsWords(n)
	}
	switch strings.TrimSpace(textOf(n)) {
	case "#", "¶", "§", "🔗", "⚓", "":
		return inHeading(n) || isHeading(n.Parent)
	}
	return false
}

// holdsWords says whether a link has more text than a sign.
func holdsWords(n *html.Node) bool {
	for _, r := range textOf(n) {
		if !isSpace(r) && !isPunct(r) {
			return true
		}
	}
	return false
}

func inHeading(n *html.Node) bool {
	for p, up := n.Parent, 0; p != nil && up < 4; p, up = p.Parent, up+1 {
		if isHeading(p) || p.DataAtom == atom.Dt {
			return true
		}
	}
	return false
}
