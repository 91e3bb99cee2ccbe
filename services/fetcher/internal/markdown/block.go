package markdown

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// node writes one node with all that is in it.
func (w *writer) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		if !w.skips(n) {
			w.text(n.Data)
		}
	case html.DocumentNode:
		w.children(n)
	case html.ElementNode:
		if w.special(n) {
			return
		}
		if w.skips(n) {
			return
		}
		w.element(n)
		if w.barren == n {
			w.barren = nil
		}
	}
}

func (w *writer) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

// block writes the children as a block of their own.
func (w *writer) block(n *html.Node) {
	w.want(blankLine)
	w.children(n)
	w.want(blankLine)
}

func (w *writer) element(n *html.Node) {
	if n.Namespace == "svg" {
		return
	}
	switch n.DataAtom {
	case atom.Script:
		w.script(n)
	case atom.Style, atom.Template, atom.Head, atom.Title, atom.Iframe, atom.Object, atom.Embed, atom.Svg,
		atom.Canvas, atom.Audio, atom.Video, atom.Select, atom.Option, atom.Datalist, atom.Textarea, atom.Dialog,
		atom.Link, atom.Meta, atom.Rp, atom.Noframes, atom.Map:
	case atom.Noscript:
		w.noscript(n)
	case atom.Button:
		if w.mode == heading {
			w.children(n) // a heading that opens its section
		}
	case atom.Input:
		w.checkbox(n)
	case atom.Br:
		w.lineBreak()
	case atom.Hr:
		w.rule()
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading(n, int(n.Data[1]-'0'))
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Aside, atom.Nav,
		atom.Figure, atom.Figcaption, atom.Form, atom.Fieldset, atom.Legend, atom.Address, atom.Body, atom.Center,
		atom.Hgroup, atom.Search, atom.Details, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Dt, atom.Dd:
		w.section(n)
	case atom.Summary:
		w.summary(n)
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		w.list(n)
	case atom.Li:
		w.item(n, &list{bullet: '-'})
	case atom.Dl:
		w.definitions(n)
	case atom.Blockquote:
		w.quote(n)
	case atom.Pre, atom.Listing, atom.Xmp, atom.Plaintext:
		w.codeBlock(n)
	case atom.Table:
		w.table(n)
	default:
		w.inline(n)
	}
}

// section writes a block that has no sign of its own, unless its markup says
// that it stands for one that has.
func (w *writer) section(n *html.Node) {
	if hasAttrs(n) {
		if level := ariaLevel(n); level > 0 {
			w.heading(n, level)
			return
		}
		if isLabel(n) {
			return
		}
		if isEditor(n) {
			w.codeBlock(n)
			return
		}
	}
	w.block(n)
}

// ariaLevel is the level of a heading that is one by its role, else 0.
func ariaLevel(n *html.Node) int {
	if attr(n, "role") != "heading" {
		return 0
	}
	if level := attr(n, "aria-level"); len(level) == 1 && level[0] >= '1' && level[0] <= '6' {
		return int(level[0] - '0')
	}
	return 2
}

func (w *writer) lineBreak() {
	switch {
	case w.mode == heading || w.inLink:
		w.space = true
	case w.gap == none && w.mode == blocks && len(w.out) == w.line:
	case w.gap == hardBreak:
		w.want(blankLine)
	default:
		w.want(hardBreak)
	}
}

func (w *writer) rule() {
	w.want(blankLine)
	if w.mode != blocks || len(w.out) == 0 {
		return
	}
	sign := "---"
	if k := len(w.boxes); k > 0 && !w.boxes[k-1].used {
		sign = "___" // "- ---" would be one rule
	}
	w.beginBlock()
	w.out = append(w.out, sign...)
	w.want(blankLine)
}

const hashes = "###### "

// heading writes a heading on one line.
func (w *writer) heading(n *html.Node, level int) {
	if w.mode != blocks {
		w.block(n)
		return
	}
	w.want(blankLine)
	w.closeSpans()
	before, written := w.gap, len(w.out)
	w.mode, w.headMark = heading, hashes[6-level:]
	if n == w.linked {
		w.link(n, w.linkedTo)
	} else {
		w.children(n)
	}
	w.closeSpans()
	w.mode, w.headMark = blocks, ""
	if w.gap = none; len(w.out) == written {
		w.gap = before
	}
	w.want(blankLine)
}

// summary writes what stands for a closed section as its bold first line. One in
// another is only part of it: to look for headings in each would take as long as
// they are deep.
func (w *writer) summary(n *html.Node) {
	if w.inSummary {
		w.block(n)
		return
	}
	w.inSummary = true
	defer func() { w.inSummary = false }()
	if holds(n, isHeading) {
		w.block(n)
		return
	}
	w.want(blankLine)
	w.wrapped(n, strong)
	w.want(blankLine)
}

func (w *writer) quote(n *html.Node) {
	w.want(blankLine)
	w.closeSpans()
	boxed := w.open("> ", "> ")
	w.children(n)
	w.want(blankLine)
	if boxed {
		w.closeSpans()
		w.close()
	}
}

// wrapped writes the children of n between marks.
func (w *writer) wrapped(n *html.Node, s span) {
	if !w.push(s) {
		w.children(n)
		return
	}
	w.children(n)
	w.pop()
}

// hasAttrs says whether an element says anything about itself. Most do not,
// and need not be asked more.
func hasAttrs(n *html.Node) bool { return len(n.Attr) > 0 }

// attr is the value of an attribute, "" without it.
func attr(n *html.Node, key string) string {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return n.Attr[i].Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, key string) bool {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return true
		}
	}
	return false
}

// holds says whether any element below n is one that is asked for.
func holds(n *html.Node, is func(*html.Node) bool) bool { return first(n, is) != nil }

// first is the first element below n that is one that is asked for.
func first(n *html.Node, is func(*html.Node) bool) *html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		if is(c) {
			return c
		}
		if found := first(c, is); found != nil {
			return found
		}
	}
	return nil
}

func isHeading(n *html.Node) bool {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// hasText says whether anything but white space is below n.
func hasText(n *html.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			if strings.TrimSpace(c.Data) != "" {
				return true
			}
		case html.ElementNode:
			if hasText(c) {
				return true
			}
		}
	}
	return false
}

// isBlock tells elements that break a line of text.
func isBlock(n *html.Node) bool {
	switch n.DataAtom {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Figure, atom.Ul, atom.Ol, atom.Dl, atom.Li, atom.Blockquote,
		atom.Pre, atom.Table, atom.Hr, atom.Header, atom.Footer, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// hasToken says whether one of the words of an attribute is one of those given.
func hasToken(val string, words ...string) bool {
	for token := range strings.FieldsSeq(val) {
		for _, word := range words {
			if token == word {
				return true
			}
		}
	}
	return false
}
