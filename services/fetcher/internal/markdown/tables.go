package markdown

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Table is a table of data in plain text.
type Table struct {
	// Caption is the table's own title, "" without one.
	Caption string
	// Header says whether the first row names the columns.
	Header bool
	// Rows all have as many cells as there are columns. A cell that spans
	// several stands in each of them, unless it is longer than 200 bytes or
	// spans the whole row: then it stands in the first.
	Rows [][]string
}

// Tables are the tables of data below root in order, those that Write writes
// as tables. A table in a cell of another is part of that cell.
func Tables(root *html.Node, o Options) []Table {
	w := writers.Get().(*writer)
	w.o = o
	w.mode = plain
	var tables []Table
	w.tables(root, &tables)
	w.release()
	return tables
}

func (w *writer) tables(n *html.Node, to *[]Table) {
	if n.Type == html.ElementNode {
		if w.skips(n) {
			return
		}
		if n.DataAtom == atom.Table {
			if codeTable(n) {
				return
			}
			if isData(n) {
				if t := w.plainTable(n); len(t.Rows) > 0 {
					*to = append(*to, t)
				}
				return
			}
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.tables(c, to)
	}
}

func (w *writer) plainTable(n *html.Node) Table {
	g := w.grid(n)
	t := Table{}
	if g.caption != nil {
		c := w.cellText(g.caption)
		t.Caption = string(g.text(c))
	}
	if len(g.rows) > 1 && g.isTitle(0) {
		if t.Caption == "" {
			t.Caption = string(g.text(g.rows[0][0]))
			g.dropRow()
		}
	}
	header, body := g.split()
	if header != nil {
		t.Header = true
		t.Rows = append(t.Rows, g.strings(header))
	}
	for _, r := range body {
		t.Rows = append(t.Rows, g.strings(r))
	}
	return t
}

func (g *grid) strings(row []gridCell) []string {
	out := make([]string, g.width)
	for i := range out {
		if i < len(row) {
			out[i] = string(g.text(row[i]))
		}
	}
	return out
}
