package markdown

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// inline writes an element that stands in a line of text. An unknown element
// is one, as for a browser.
func (w *writer) inline(n *html.Node) {
	switch n.DataAtom {
	case atom.A:
		w.anchor(n)
	case atom.Img:
		w.image(n)
	case atom.B, atom.Strong:
		w.wrapped(n, strong)
	case atom.I, atom.Em:
		w.wrapped(n, em)
	case atom.Del, atom.S, atom.Strike:
		w.wrapped(n, strike)
	case atom.Ins, atom.Kbd, atom.Mark, atom.Sub, atom.Sup:
		if w.footnoteMark(n) {
			return
		}
		w.wrapped(n, tagSpan(n.DataAtom))
	case atom.Code, atom.Tt, atom.Samp:
		w.codeSpan(n)
	case atom.Q:
		w.begin('“')
		w.out = append(w.out, "“"...)
		w.children(n)
		w.space = false
		w.begin('”')
		w.out = append(w.out, "”"...)
	case atom.Rt:
		w.reading(n)
	case atom.Math:
		w.mathML(n)
	case atom.Wbr, atom.Rp:
	default:
		if hasAttrs(n) && isShownAsBlock(n) {
			w.block(n)
			return
		}
		w.children(n)
	}
}

// tagSpan is the span of an element that stays a tag.
func tagSpan(a atom.Atom) span {
	switch a {
	case atom.Ins:
		return span{open: "<ins>", shut: "</ins>"}
	case atom.Kbd:
		return span{open: "<kbd>", shut: "</kbd>"}
	case atom.Mark:
		return span{open: "<mark>", shut: "</mark>"}
	case atom.Sub:
		return span{open: "<sub>", shut: "</sub>"}
	default:
		return span{open: "<sup>", shut: "</sup>"}
	}
}

// reading writes the reading of a character behind it: 漢字(かんじ).
func (w *writer) reading(n *html.Node) {
	if !hasText(n) {
		return
	}
	w.space = false
	w.begin('(')
	w.out = append(w.out, '(')
	w.children(n)
	w.space = false
	w.begin(')')
	w.out = append(w.out, ')')
}

// isShownAsBlock tells an inline element that its own style makes a block.
func isShownAsBlock(n *html.Node) bool {
	style := attr(n, "style")
	at := strings.Index(style, "display")
	if at < 0 {
		return false
	}
	val := strings.TrimLeft(style[at+len("display"):], ": \t")
	return strings.HasPrefix(val, "block") || strings.HasPrefix(val, "flex") || strings.HasPrefix(val, "grid") || strings.HasPrefix(val, "table")
}

// textOf is all text below a node as it stands.
func textOf(n *html.Node) string {
	if n.FirstChild != nil && n.FirstChild == n.LastChild && n.FirstChild.Type == html.TextNode {
		return n.FirstChild.Data
	}
	var b strings.Builder
	appendText(&b, n)
	return b.String()
}

func appendText(b *strings.Builder, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			b.WriteString(c.Data)
		case html.ElementNode:
			appendText(b, c)
		}
	}
}

// folded is text on one line.
func folded(s string) string { return strings.Join(strings.Fields(s), " ") }
