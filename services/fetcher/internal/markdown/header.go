package markdown

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// headerRows is how many rows at the top name the columns: those in thead, else
// those of heads alone, else a first row that is all bold.
func (g *grid) headerRows() int {
	if g.thead > 0 {
		return min(g.thead, len(g.rows))
	}
	n := 0
	for n < len(g.rows) && g.allHeads(g.rows[n]) && (n == 0 || !g.titles[n]) {
		n++
	}
	if n == len(g.rows) {
		return min(n, 1)
	}
	if n == 0 && len(g.rows) > 1 && g.allBold(g.rows[0]) && !g.allBold(g.rows[1]) {
		return 1
	}
	return n
}

func (g *grid) allHeads(row []gridCell) bool {
	heads := 0
	for _, c := range row {
		if c.to == c.from {
			continue
		}
		if !c.head {
			return false
		}
		heads++
	}
	return heads > 0
}

func (g *grid) allBold(row []gridCell) bool {
	bold := 0
	for _, c := range row {
		if c.to == c.from {
			continue
		}
		if !c.bold {
			return false
		}
		bold++
	}
	return bold > 1
}

// split gives the one row of names that Markdown has, made of all there are,
// and the rows below it. Without names that row is empty.
func (g *grid) split() (header []gridCell, body [][]gridCell) {
	for i := range g.rows {
		if g.isTitle(i) && len(g.rows[i]) > 0 { // a title stands in the first cell alone
			for k := 1; k < len(g.rows[i]); k++ {
				g.rows[i][k].to = g.rows[i][k].from
			}
		}
	}
	body = g.rows[g.header:]
	switch g.header {
	case 0:
		return nil, body
	case 1:
		return g.rows[0], body
	}
	header = make([]gridCell, g.width)
	for col := range g.width {
		from := len(g.w.cells)
		var last []byte
		for _, r := range g.rows[:g.header] {
			if col >= len(r) {
				continue
			}
			text := g.text(r[col])
			if len(text) == 0 || bytes.Equal(text, last) {
				continue
			}
			if len(g.w.cells) > from {
				g.w.cells = append(g.w.cells, " / "...)
			}
			g.w.cells = append(g.w.cells, text...)
			last = text
		}
		header[col] = gridCell{from: from, to: len(g.w.cells)}
	}
	return header, body
}

// isBold says whether all that is in a cell is one bold text.
func isBold(n *html.Node) bool {
	var only *html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) == "":
		case c.Type != html.ElementNode || only != nil:
			return false
		default:
			only = c
		}
	}
	if only == nil {
		return false
	}
	switch only.DataAtom {
	case atom.B, atom.Strong:
		return true
	case atom.P, atom.Div, atom.Span, atom.Font, atom.Center, atom.A:
		return isBold(only)
	}
	return false
}
