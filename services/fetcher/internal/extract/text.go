package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
)

// textWriter writes text with folded white space and kept paragraphs.
type textWriter struct {
	b      strings.Builder
	limit  int  // bytes after which nothing more is written; 0 for no limit
	breaks int  // pending line breaks
	space  bool // pending space
	pre    bool // inside a preformatted element
}

// block asks for n line breaks before what comes next; 0 asks for nothing.
func (w *textWriter) block(n int) {
	if n == 0 {
		return
	}
	w.breaks = max(w.breaks, n)
	w.space = false
}

func (w *textWriter) flush() {
	switch {
	case w.b.Len() == 0:
	case w.breaks > 0:
		w.b.WriteString("\n\n"[:min(w.breaks, 2)])
	case w.space:
		w.b.WriteByte(' ')
	}
	w.breaks, w.space = 0, false
}

func (w *textWriter) text(s string) {
	if w.pre {
		w.preformatted(s)
		return
	}
	start := -1
	for i, r := range s {
		if isPlain(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			w.flush()
			w.b.WriteString(s[start:i])
			start = -1
		}
		if unicode.IsSpace(r) {
			w.space = true
		}
	}
	if start >= 0 {
		w.flush()
		w.b.WriteString(s[start:])
	}
}

func (w *textWriter) preformatted(s string) {
	if s == "" {
		return
	}
	w.flush()
	w.b.WriteString(strings.ReplaceAll(s, "\r\n", "\n"))
}

// isPlain says whether a rune is written as it is: no white space, and none of
// the characters that only say where a line may break.
func isPlain(r rune) bool {
	switch r {
	case '\u00ad', '\u200b', '\u2060', '\ufeff':
		return false
	}
	return !unicode.IsSpace(r)
}

// write puts the text below n out, without the elements skip names.
func (w *textWriter) write(n *html.Node, skip func(*html.Node) bool) {
	if w.limit > 0 && w.b.Len() > w.limit {
		return
	}
	switch n.Type {
	case html.TextNode:
		if !skip(n) {
			w.text(n.Data)
		}
		return
	case html.ElementNode:
		if clean.IsUnread(n) || skip(n) {
			return
		}
	case html.DocumentNode:
	default:
		return
	}
	around := 0
	switch n.DataAtom {
	case atom.Br:
		w.lineBreak()
		return
	case atom.Td, atom.Th:
		w.cell()
	case atom.Pre, atom.Listing, atom.Xmp:
		w.writePre(n, skip)
		return
	default:
		around = breaks(n.DataAtom)
		w.block(around)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.write(c, skip)
	}
	w.block(around)
}

func (w *textWriter) lineBreak() {
	if w.pre {
		w.flush()
		w.b.WriteByte('\n')
		return
	}
	w.breaks = min(w.breaks+1, 2)
	w.space = false
}

// cell separates the cells of a row; the first one begins the line.
func (w *textWriter) cell() {
	if w.breaks == 0 && w.b.Len() > 0 {
		w.space = false
		w.b.WriteByte('\t')
	}
}

// writePre writes a preformatted element as it stands, less the line breaks at
// both ends.
func (w *textWriter) writePre(n *html.Node, skip func(*html.Node) bool) {
	inner := w
	if !w.pre {
		inner = &textWriter{pre: true}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		inner.write(c, skip)
	}
	if inner == w {
		return
	}
	text := strings.TrimRight(strings.TrimLeft(inner.b.String(), "\n"), "\n \t")
	w.block(2)
	if strings.TrimSpace(text) != "" {
		w.flush()
		w.b.WriteString(text)
	}
	w.block(2)
}

func (w *textWriter) String() string { return strings.TrimSpace(w.b.String()) }

// textOf is the folded text of one element, on one line, without the elements
// skip names.
func textOf(n *html.Node, skip func(*html.Node) bool) string {
	var w textWriter
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.write(c, skip)
	}
	return fold(w.String())
}

// textUpTo is the same, cut with an ellipsis when it is longer than limit
// bytes.
func textUpTo(n *html.Node, limit int, skip func(*html.Node) bool) string {
	w := textWriter{limit: limit}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.write(c, skip)
	}
	text := fold(w.String())
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// breaks is how many line breaks stand around an element: 0 inline, 1 a line of
// its own, 2 a paragraph of its own.
func breaks(a atom.Atom) int {
	switch a {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Dl, atom.Table,
		atom.Blockquote, atom.Pre, atom.Figure, atom.Article, atom.Section, atom.Main, atom.Hr, atom.Fieldset,
		atom.Details, atom.Header, atom.Footer, atom.Aside, atom.Nav, atom.Form, atom.Address, atom.Listing, atom.Xmp:
		return 2
	case atom.Div, atom.Li, atom.Tr, atom.Dt, atom.Dd, atom.Figcaption, atom.Caption, atom.Summary, atom.Body,
		atom.Center, atom.Thead, atom.Tbody, atom.Tfoot, atom.Legend, atom.Hgroup, atom.Search, atom.Option, atom.Menu, atom.Td, atom.Th:
		return 1
	}
	return 0
}
