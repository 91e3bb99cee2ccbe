package content

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
)

// markTables marks the tables of data below a root.
func (f *finder) markTables(root int32) {
	for i := root; i < f.rows[root].End; i++ {
		r := &f.rows[i]
		if r.Tag == atom.Table && f.isData(i) {
			r.Flags |= clean.DataTable
		}
	}
}

// Sizes from which a table without other signs holds data.
const (
	dataRows  = 10
	dataCols  = 4
	dataCells = 10
)

// isData tells a table of data from one that lays out a page: by what its
// attributes say, by elements that only tables of data have, by its size.
func (f *finder) isData(i int32) bool {
	if data, told := toldData(f.rows[i].Node); told {
		return data
	}
	rows, cols, in := 0, 0, 0
	for k := i + 1; k < f.rows[i].End; k++ {
		switch r := &f.rows[k]; r.Tag {
		case atom.Caption, atom.Col, atom.Colgroup, atom.Tfoot, atom.Thead, atom.Th:
			return true
		case atom.Table:
			return false
		case atom.Tr:
			rows++
			in = 0
		case atom.Td:
			in++
			cols = max(cols, in)
		}
	}
	if rows == 1 || cols == 1 {
		return false
	}
	return rows >= dataRows || cols > dataCols || rows*cols > dataCells
}

func toldData(n *html.Node) (data, told bool) {
	for i := range n.Attr {
		switch a := &n.Attr[i]; a.Key {
		case "role":
			if a.Val == "presentation" {
				return false, true
			}
		case "datatable":
			if a.Val == "0" {
				return false, true
			}
		case "summary":
			if a.Val != "" {
				return true, true
			}
		}
	}
	return false, false
}
