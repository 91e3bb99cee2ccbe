package markdown

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxSpan is how many columns or rows a cell may take.
	maxSpan = 100
	// maxCells is how many cells a table may be spread to. Beyond it the cells
	// of a row stand side by side, whatever they span.
	maxCells = 200_000
	// repeatable is the longest text that is repeated where its cell spans
	// several, in bytes. A longer one stands in the first.
	repeatable = 200
)

// gridCell is a cell of a table as it is spread over its rows and columns.
type gridCell struct {
	from, to int  // its text in the writer's cells
	origin   bool // it begins here
	head     bool // it is the head of a row or column
	bold     bool // all its text is bold
	set      bool
}

// grid is a table with a cell for each row and column.
type grid struct {
	w       *writer
	rows    [][]gridCell
	width   int
	header  int // rows at the top that name the columns
	caption *html.Node
	titles  []bool // rows that are one cell over all columns
	thead   int    // rows in thead
	total   int
}

func (g *grid) text(c gridCell) []byte { return g.w.cells[c.from:c.to] }

// grid reads a table. The texts of its cells are in w.cells until the next one.
func (w *writer) grid(n *html.Node) grid {
	g := grid{w: w}
	w.cells, w.held = w.cells[:0], w.held[:0]
	g.read(n, false)
	for _, r := range g.rows {
		g.width = max(g.width, len(r))
	}
	g.width = min(g.width, g.columns())
	g.dropEmpty()
	g.header = g.headerRows()
	g.mergeSigns()
	return g
}

// columns is how many columns rows of more than one cell take: a single cell
// often claims to span more than there are.
func (g *grid) columns() int {
	n := 1
	for i, r := range g.rows {
		if !g.titles[i] {
			n = max(n, len(r))
		}
	}
	return n
}

func (g *grid) read(n *html.Node, head bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || g.w.skips(c) {
			continue
		}
		switch c.DataAtom {
		case atom.Caption:
			if g.caption == nil {
				g.caption = c
			}
		case atom.Thead:
			g.read(c, true)
		case atom.Tbody, atom.Tfoot:
			g.read(c, false)
		case atom.Tr:
			if g.row(c) && head && g.thead == len(g.rows)-1 {
				g.thead++
			}
		}
	}
}

// row adds a row and is false when it has no cell.
func (g *grid) row(tr *html.Node) bool {
	at := len(g.rows)
	var row []gridCell
	if at > 0 && g.pending() {
		row = g.carried()
	}
	cells, col := 0, 0
	for c := tr.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Td && c.DataAtom != atom.Th || g.w.skips(c) {
			continue
		}
		cells++
		cell := g.w.cellText(c)
		cell.origin, cell.set, cell.head = true, true, c.DataAtom == atom.Th
		cell.bold = isBold(c)
		for col < len(row) && row[col].set {
			col++
		}
		wide, tall := g.span(c, "colspan"), g.span(c, "rowspan")
		for k := range wide {
			if col+k >= len(row) {
				row = append(row, gridCell{})
			}
			spread := cell
			if k > 0 {
				spread.origin = false
				if cell.to-cell.from > repeatable {
					spread.to = spread.from
				}
			}
			row[col+k] = spread
			if tall > 1 {
				g.hold(col+k, spread, tall-1)
			}
		}
		col += wide
		g.total += wide * tall
	}
	if cells == 0 && len(row) == 0 {
		return false
	}
	g.rows = append(g.rows, row)
	g.titles = append(g.titles, cells == 1 && len(row) > 1 && row[0].origin && !row[len(row)-1].origin && sameText(row))
	return true
}

// span is how many columns or rows a cell takes.
func (g *grid) span(n *html.Node, key string) int {
	if g.total > maxCells {
		return 1
	}
	return min(max(atoi(attr(n, key)), 1), maxSpan)
}

func sameText(row []gridCell) bool {
	for _, c := range row[1:] {
		if c.from != row[0].from {
			return false
		}
	}
	return true
}

// held is a cell that goes on in rows below.
type held struct {
	col, rows int
	cell      gridCell
}

func (g *grid) hold(col int, c gridCell, rows int) {
	c.origin = false
	if c.to-c.from > repeatable {
		c.to = c.from
	}
	g.w.held = append(g.w.held, held{col: col, rows: rows, cell: c})
}

func (g *grid) pending() bool { return len(g.w.held) > 0 }

// carried begins a row with the cells that go on from rows above.
func (g *grid) carried() []gridCell {
	var row []gridCell
	kept := g.w.held[:0]
	for _, h := range g.w.held {
		for len(row) <= h.col {
			row = append(row, gridCell{})
		}
		row[h.col] = h.cell
		if h.rows--; h.rows > 0 {
			kept = append(kept, h)
		}
	}
	g.w.held = kept
	return row
}

// dropEmpty takes out rows and columns that have no text of their own: they
// are there to make room.
func (g *grid) dropEmpty() {
	rows, titles := g.rows[:0], g.titles[:0]
	thead := g.thead
	for i, r := range g.rows {
		if !g.hasText(r) {
			if i < thead {
				g.thead--
			}
			continue
		}
		rows, titles = append(rows, r), append(titles, g.titles[i])
	}
	g.rows, g.titles = rows, titles
	keep := make([]bool, g.width)
	kept := 0
	for col := range g.width {
		for i, r := range g.rows {
			if col < len(r) && r[col].origin && r[col].to > r[col].from && (col == 0 || !g.titles[i]) {
				keep[col] = true
				kept++
				break
			}
		}
	}
	if kept == g.width {
		return
	}
	for i, r := range g.rows {
		out := r[:0]
		for col, c := range r {
			if col < g.width && keep[col] {
				out = append(out, c)
			}
		}
		g.rows[i] = out
	}
	g.width = kept
}

func (g *grid) hasText(row []gridCell) bool {
	for _, c := range row {
		if c.origin && c.to > c.from {
			return true
		}
	}
	return false
}

// isTitle says whether a row is one cell over all columns.
func (g *grid) isTitle(row int) bool { return row < len(g.titles) && g.titles[row] }

func (g *grid) dropRow() {
	g.rows, g.titles = g.rows[1:], g.titles[1:]
	g.header = max(0, g.header-1)
	if g.header == 0 {
		g.header = g.headerRows()
	}
}

// cellText renders a cell into w.cells.
func (w *writer) cellText(n *html.Node) gridCell {
	mode, at := w.mode, len(w.out)
	g, space := w.gap, w.space
	if w.mode != plain {
		w.mode = cell
	}
	outer := w.cell
	w.cell = at
	w.gap, w.space = none, false
	w.children(n)
	w.closeSpans()
	w.gap, w.space = g, space
	from := len(w.cells)
	w.cells = append(w.cells, w.out[at:]...)
	w.out, w.mode, w.cell = w.out[:at], mode, outer
	return gridCell{from: from, to: len(w.cells)}
}
