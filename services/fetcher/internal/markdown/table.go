package markdown

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// table writes a table of data as one, and what is only arranged in a table as
// the blocks it holds.
func (w *writer) table(n *html.Node) {
	switch {
	case codeTable(n):
		w.tableCode(n)
	case w.mode != blocks:
		w.flatTable(n)
	case isData(n):
		w.dataTable(n)
	default:
		w.block(n)
	}
}

// dataTable writes a table of data.
func (w *writer) dataTable(n *html.Node) {
	w.want(blankLine)
	w.closeSpans()
	g := w.grid(n)
	defer func() { w.cells = w.cells[:0] }()
	if caption := g.caption; caption != nil {
		w.block(caption)
		w.closeSpans()
	}
	if len(g.rows) > 1 && g.isTitle(0) {
		// The first row is one cell over all columns: a title.
		w.want(blankLine)
		w.beginBlock()
		w.out = append(w.out, unbroken(g.text(g.rows[0][0]))...)
		g.dropRow()
	}
	if len(g.rows) == 0 {
		return
	}
	if g.width == 1 && g.header == 0 {
		for _, r := range g.rows { // a list of no more than texts
			w.want(blankLine)
			w.beginBlock()
			w.out = append(w.out, unbroken(g.text(r[0]))...)
		}
		w.want(blankLine)
		return
	}
	w.want(blankLine)
	w.beginBlock()
	header, body := g.split()
	w.row(&g, header, true)
	w.out = append(w.out, '\n')
	w.prefix()
	for range g.width {
		w.out = append(w.out, "| --- "...)
	}
	w.out = append(w.out, '|')
	for _, r := range body {
		w.out = append(w.out, '\n')
		w.prefix()
		w.row(&g, r, false)
	}
	w.want(blankLine)
}

func (w *writer) row(g *grid, cells []gridCell, header bool) {
	for i := range g.width {
		w.out = append(w.out, "| "...)
		if i < len(cells) {
			text := g.text(cells[i])
			if header {
				text = unmarked(text)
			}
			if len(text) > 0 {
				w.out = append(w.out, text...)
				w.out = append(w.out, ' ')
			}
		}
	}
	w.out = append(w.out, '|')
}

// unmarked is the text of a cell that is bold anyway, without its marks.
func unmarked(text []byte) []byte {
	if len(text) > 4 && bytes.HasPrefix(text, []byte("**")) && bytes.HasSuffix(text, []byte("**")) && bytes.Count(text, []byte("**")) == 2 {
		return text[2 : len(text)-2]
	}
	return text
}

// unbroken is the text of a cell, with spaces for its line breaks.
func unbroken(text []byte) []byte { return bytes.ReplaceAll(text, []byte("<br>"), []byte(" ")) }

// flatTable writes a table that stands in a cell of another, a row a line.
func (w *writer) flatTable(n *html.Node) {
	w.want(newLine)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Tr:
			if w.skips(c) {
				continue
			}
			w.flatRow(c)
		case atom.Thead, atom.Tbody, atom.Tfoot:
			if w.skips(c) {
				continue
			}
			w.flatTable(c)
		case atom.Caption:
			w.node(c)
		}
	}
	w.want(newLine)
}

// flatRow writes the cells of a row with commas between them.
func (w *writer) flatRow(tr *html.Node) {
	w.want(newLine)
	before := len(w.out)
	any := false
	for c := tr.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Td && c.DataAtom != atom.Th || w.skips(c) {
			continue
		}
		if any && len(w.out) > before {
			w.gap, w.space = none, false
			if hasText(c) {
				w.settle(',')
				w.out = append(w.out, ',')
				w.space = true
			}
		}
		at := len(w.out)
		w.children(c)
		any = any || len(w.out) > at
	}
	w.want(newLine)
}

// isData says whether a table holds data, or only arranges blocks on the page.
func isData(n *html.Node) bool {
	switch attr(n, "role") {
	case "presentation", "none":
		return false
	}
	s := shape{marked: attr(n, "role") == "grid" || attr(n, "role") == "table" || hasAttr(n, "summary") && attr(n, "summary") != ""}
	s.look(n, 0)
	switch {
	case s.columns < 2:
		return s.marked && s.rows > 1
	case s.nested:
		return s.marked && s.letters < maxLetters*s.rows
	case s.marked:
		return true
	}
	return s.rows > 1 && !s.blocks && s.longest <= maxLetters
}

// maxLetters is how long a cell of an unmarked table of data may be, in bytes.
const maxLetters = 800

// shape is what a table looks like.
type shape struct {
	rows, columns int
	marked        bool // it has heads, a caption or a role
	nested        bool // it has a table in it
	blocks        bool // a cell has headings, code, forms or several paragraphs
	longest       int  // bytes of the longest cell
	letters       int  // bytes of all cells
}

// look fills in the shape from the rows of a table.
func (s *shape) look(n *html.Node, depth int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Caption:
			s.marked = s.marked || hasText(c)
		case atom.Thead:
			s.marked = true
			s.look(c, depth+1)
		case atom.Tbody, atom.Tfoot:
			s.look(c, depth+1)
		case atom.Tr:
			s.row(c)
		}
	}
}

func (s *shape) row(tr *html.Node) {
	columns := 0
	for c := tr.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Th:
			s.marked = true
		case atom.Td:
		default:
			continue
		}
		columns += min(max(atoi(attr(c, "colspan")), 1), maxSpan)
		letters, paragraphs := 0, 0
		s.cell(c, &letters, &paragraphs)
		s.longest = max(s.longest, letters)
		s.letters += letters
	}
	if columns > 0 {
		s.rows++
		s.columns = max(s.columns, columns)
	}
}

func (s *shape) cell(n *html.Node, letters, paragraphs *int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			*letters += len(strings.TrimSpace(c.Data))
		case html.ElementNode:
			switch c.DataAtom {
			case atom.Table:
				s.nested = true
				return // the table in it is asked for itself
			case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Form, atom.Iframe, atom.Article, atom.Section, atom.Pre,
				atom.Hr, atom.Textarea, atom.Select:
				s.blocks = true
			case atom.P:
				*paragraphs++
				s.blocks = s.blocks || *paragraphs > 2
			case atom.Script, atom.Style:
				continue
			}
			s.cell(c, letters, paragraphs)
		}
	}
}

// atoi reads a small number; 0 where there is none.
func atoi(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > 99_999 {
			break
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}
