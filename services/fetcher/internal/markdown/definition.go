package markdown

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// definitions is a definition list being written: a list of which each item
// has its terms in bold and what they mean below them.
type definitions struct {
	marker  string
	bullet  byte
	open    bool // an item is open
	boxed   bool // it has a box
	defined bool // it has a definition
}

func (w *writer) definitions(n *html.Node) {
	if w.mode != blocks {
		w.block(n)
		return
	}
	d := definitions{marker: "- ", bullet: w.unlikeLast('-')}
	if d.bullet == '*' {
		d.marker = "* "
	}
	if w.inItem() {
		w.gap, w.space = newLine, false
	} else {
		w.want(blankLine)
	}
	w.terms(n, &d)
	if d.open {
		w.endTerm(&d)
		w.listEnds(d.bullet)
	}
	w.want(blankLine)
}

// terms writes the terms and definitions in n, which may stand in groups.
func (w *writer) terms(n *html.Node, d *definitions) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && w.skips(c) {
			continue
		}
		switch c.DataAtom {
		case atom.Dt:
			if d.open && d.defined {
				w.endTerm(d)
			}
			if d.open {
				w.want(hardBreak)
			} else {
				w.beginTerm(d)
			}
			w.term(c)
		case atom.Dd:
			if !d.open {
				w.beginTerm(d)
			} else if w.gap = newLine; d.defined {
				w.gap = blankLine
			}
			w.space = false
			d.defined = true
			w.closeSpans()
			boxed := w.open("", "") // its first block stands right below the term
			w.children(c)
			w.closeSpans()
			if boxed {
				w.close()
			}
		case atom.Div:
			w.terms(c, d)
		default:
			w.node(c)
		}
	}
}

func (w *writer) beginTerm(d *definitions) {
	w.gap, w.space = max(w.gap, newLine), false
	w.closeSpans()
	d.boxed = w.open(d.marker, "  ")
	d.open, d.defined = true, false
}

func (w *writer) endTerm(d *definitions) {
	w.closeSpans()
	if d.boxed {
		w.close()
	}
	d.open = false
	w.gap, w.space = newLine, false
}

func (w *writer) term(n *html.Node) {
	if hasToken(attr(n, "class"), "sig", "descclassname") { // an API in Sphinx
		w.codeSpan(n)
		return
	}
	w.wrapped(n, strong)
}
