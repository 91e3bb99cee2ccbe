package document

import (
	"encoding/xml"
	"strings"
)

// wordTable is an open table.
type wordTable struct {
	rows   [][]string
	row    []string
	cell   strings.Builder
	span   int  // columns that the open cell takes
	down   bool // the open cell goes on from the row above
	header bool // the first row is marked as one
}

func (w *wordReader) table() *wordTable {
	if len(w.tables) == 0 {
		return nil
	}
	return w.tables[len(w.tables)-1]
}

func (w *wordReader) beginTable(e xml.StartElement) bool {
	t := w.table()
	switch e.Name.Local {
	case "tbl":
		w.tables = append(w.tables, &wordTable{})
		return true
	case "tr", "tc", "gridSpan", "vMerge", "hMerge", "tblHeader", "tblLook":
	default:
		return false
	}
	if t == nil {
		return false
	}
	value := attribute(e, "val")
	switch e.Name.Local {
	case "tr":
		t.row = nil
	case "tc":
		t.cell.Reset()
		t.span, t.down = clampInt(attribute(e, "gridSpan"), 1, maxColumns), isTrue(attribute(e, "vMerge")) // slides say it here
		if isTrue(attribute(e, "hMerge")) {
			t.span = 0 // its text came with the cell that takes its place
		}
	case "gridSpan":
		t.span = clampInt(value, 1, maxColumns)
	case "vMerge":
		t.down = value != "restart"
	case "tblHeader":
		t.header = t.header || len(t.rows) == 0 && isOn(value)
	}
	return true
}

func isTrue(s string) bool { return s == "1" || s == "true" }

// cellText adds a paragraph to the open cell. Where a link leads stands behind
// its text.
func (w *wordReader) cellText(b Block) {
	t := w.table()
	if t.cell.Len() > 0 {
		t.cell.WriteByte('\n')
	}
	if b.Kind == ListItem {
		t.cell.WriteString(b.marker())
	}
	text := cellOf(b.Spans)
	if t.cell.Len()+len(text) > maxCell {
		w.doc.Cut = true
		w.cutCells++
		text = firstBytes(text, max(maxCell-t.cell.Len(), 0))
	}
	t.cell.WriteString(text)
}

// cellOf is styled text as plain text of a cell.
func cellOf(spans []Span) string {
	var out strings.Builder
	for i, s := range spans {
		out.WriteString(s.plain())
		if s.URL != "" && s.URL != strings.TrimSpace(s.Text) && (i+1 == len(spans) || spans[i+1].URL != s.URL) {
			out.WriteString(" (" + s.URL + ")")
		}
	}
	return strings.TrimSpace(out.String())
}

// endTable ends a cell, a row or a table.
func (w *wordReader) endTable(element string) {
	t := w.table()
	if t == nil {
		return
	}
	switch element {
	case "tc":
		text := t.cell.String()
		if above := len(t.rows) - 1; t.down && above >= 0 && len(t.row) < len(t.rows[above]) {
			text = t.rows[above][len(t.row)]
		}
		for range t.span {
			if len(t.row) < maxColumns && w.cells > 0 {
				t.row = append(t.row, text)
				w.cells--
			}
		}
		t.cell.Reset()
	case "tr":
		if len(t.row) > 0 {
			t.rows = append(t.rows, t.row)
		}
	case "tbl":
		w.tables = w.tables[:len(w.tables)-1]
		w.closeTable(t)
	}
}

// closeTable makes a block of a table. One inside a cell becomes lines of it, and
// one of a single cell is a frame around text.
func (w *wordReader) closeTable(t *wordTable) {
	pad(t.rows)
	outer := w.table()
	switch {
	case len(t.rows) == 0:
	case outer != nil:
		for _, row := range t.rows {
			if outer.cell.Len() > 0 {
				outer.cell.WriteByte('\n')
			}
			outer.cell.WriteString(strings.Join(row, "; "))
		}
	case len(t.rows) == 1 && len(t.rows[0]) == 1:
		w.push(plainBlock(Paragraph, 0, t.rows[0][0]))
	default:
		w.push(Block{Kind: TableBlock, Table: &Table{Header: t.header || looksLikeHeader(t.rows), Rows: t.rows}})
	}
}
