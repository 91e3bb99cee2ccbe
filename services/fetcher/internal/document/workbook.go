package document

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/xuri/excelize/v2"
)

// inMemoryPart is the size over which excelize unpacks a part of a workbook to a
// temporary file, which it reads row by row, instead of memory.
const inMemoryPart = 16 << 20

// readWorkbook reads the sheets of a workbook, each as a table of what its cells
// show. Rows and columns at the end of a sheet that are empty are left out.
func readWorkbook(ctx context.Context, in *Request) (*Document, error) {
	if err := checkArchive(in.Body); err != nil {
		return nil, err
	}
	book, err := excelize.OpenReader(bytes.NewReader(in.Body), excelize.Options{
		UnzipSizeLimit: maxUnzipped, UnzipXMLSizeLimit: inMemoryPart,
	})
	switch {
	case err == nil:
	case errors.Is(err, excelize.ErrWorkbookPassword), errors.Is(err, excelize.ErrWorkbookFileFormat):
		return nil, damaged(err, "the workbook is damaged: it is no Excel file inside")
	default:
		return nil, damaged(err, "the workbook is damaged: its parts cannot be read")
	}
	defer func() { _ = book.Close() }() // temporary files
	names := book.GetSheetList()
	d := &Document{Kind: KindSpreadsheet, Pages: len(names), Blocks: []Block{}}
	if p, err := book.GetDocProps(); err == nil && p != nil {
		d.About = About{
			Title: oneLine(p.Title, maxProperty), Byline: oneLine(p.Creator, maxProperty), Language: oneLine(p.Language, maxProperty),
			Description: oneLine(p.Description, maxProperty), Published: moment(p.Created), Modified: moment(p.Modified),
		}
		d.About.set("keywords", p.Keywords)
		d.About.set("subject", p.Subject)
	}
	s := sheets{doc: d, w: writer{doc: d, left: in.MaxText}, cells: maxCells}
	for i, name := range names {
		if err := s.add(ctx, book, name); err != nil {
			return nil, err
		}
		if s.w.full() {
			d.warn("sheet_limit: the workbook was read up to row %d of sheet %q (%d of %d)", s.lastRow, name, i+1, len(names))
			break
		}
	}
	s.warnings()
	return d, nil
}

// sheets collects the sheets of a workbook.
type sheets struct {
	doc     *Document
	w       writer
	cells   int // may still be read
	lastRow int

	wide, long int // rows and cells that were cut
}

// warnings tell what was cut in rows.
func (s *sheets) warnings() {
	if s.wide > 0 {
		s.doc.Cut = true
		s.doc.warn("column_limit: %d rows have more than %d columns; the first ones are read", s.wide, maxColumns)
	}
	if s.long > 0 {
		s.doc.Cut = true
		s.doc.warn("cell_limit: %d cells are cut at %d bytes", s.long, maxCell)
	}
}

func (s *sheets) add(ctx context.Context, book *excelize.File, name string) error {
	caption := name
	if visible, err := book.GetSheetVisible(name); err == nil && !visible {
		caption += " (hidden sheet)"
	}
	rows, err := book.Rows(name)
	if err != nil { // a sheet of a chart has no rows
		s.doc.warn("sheet: %q has no cells that can be read", name)
		return nil
	}
	defer func() { _ = rows.Close() }()
	table := &Table{Caption: caption}
	s.lastRow = 0
	for rows.Next() {
		if s.lastRow++; s.lastRow%1000 == 0 && ctx.Err() != nil {
			s.doc.Cut = true
			s.doc.warn("time_limit: not all rows could be read within %s", maxTime)
			break
		}
		row, err := rows.Columns()
		if err != nil {
			return damaged(err, "the workbook is damaged: row %d of sheet %q cannot be read", s.lastRow, name)
		}
		if !s.take(table, row) {
			break
		}
	}
	if err := rows.Error(); err != nil {
		return damaged(err, "the workbook is damaged: sheet %q cannot be read whole", name)
	}
	table.trim()
	if len(table.Rows) == 0 {
		s.doc.warn("sheet: %q is empty", name)
		return nil
	}
	table.Header = looksLikeHeader(table.Rows)
	s.doc.Blocks = append(s.doc.Blocks, Block{Kind: TableBlock, Table: table})
	return nil
}

// take adds a row and says whether there is room for more.
func (s *sheets) take(t *Table, row []string) bool {
	last := len(row)
	for last > 0 && strings.TrimSpace(row[last-1]) == "" {
		last--
	}
	if s.cells -= len(row) + 1; s.cells < 0 {
		s.doc.Cut, s.w.over = true, true
		s.doc.warn("cell_limit: at most %d cells are read", maxCells)
		return false
	}
	if last > maxColumns {
		s.wide++
		last = maxColumns
	}
	out := make([]string, last)
	for i, cell := range row[:last] {
		out[i] = s.w.take(strings.ToValidUTF8(firstBytes(cell, maxCell), "\uFFFD"))
		if len(cell) > maxCell {
			s.long++
		}
	}
	t.Rows = append(t.Rows, out)
	return !s.w.full()
}

// trim drops the empty rows around the table and makes the others equally long.
func (t *Table) trim() {
	empty := func(row []string) bool {
		for _, cell := range row {
			if strings.TrimSpace(cell) != "" {
				return false
			}
		}
		return true
	}
	for len(t.Rows) > 0 && empty(t.Rows[0]) {
		t.Rows = t.Rows[1:]
	}
	for len(t.Rows) > 0 && empty(t.Rows[len(t.Rows)-1]) {
		t.Rows = t.Rows[:len(t.Rows)-1]
	}
	pad(t.Rows)
}

// looksLikeHeader says that the first row names columns: it is of short texts,
// all different, without numbers, and more rows follow.
func looksLikeHeader(rows [][]string) bool {
	if len(rows) < 2 {
		return false
	}
	seen := map[string]bool{}
	for _, cell := range rows[0] {
		cell = strings.TrimSpace(cell)
		if cell == "" || len(cell) > 100 || seen[cell] || looksLikeNumber(cell) {
			return false
		}
		seen[cell] = true
	}
	return true
}

// looksLikeNumber tells amounts and dates from names: they begin with a digit
// and have more digits than letters.
func looksLikeNumber(s string) bool {
	digits, letters := 0, 0
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f:
			letters++
		}
	}
	return digits > letters
}
