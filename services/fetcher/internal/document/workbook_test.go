package document

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
)

func TestWorkbookShowsWhatExcelShows(t *testing.T) {
	book := bookOf(t, func(f *excelize.File) error {
		date, err := f.NewStyle(&excelize.Style{NumFmt: 14})
		if err != nil {
			return err
		}
		percent, err := f.NewStyle(&excelize.Style{NumFmt: 10})
		if err != nil {
			return err
		}
		money := "#,##0.00"
		amount, err := f.NewStyle(&excelize.Style{CustomNumFmt: &money})
		if err != nil {
			return err
		}
		if _, err := f.NewSheet("Hidden"); err != nil {
			return err
		}
		if _, err := f.NewSheet("Empty"); err != nil {
			return err
		}
		return errors.Join(
			f.SetSheetRow("Sheet1", "A2", &[]any{"Name", "Born", "Share", "Price", "Text"}),
			f.SetSheetRow("Sheet1", "A3", &[]any{"Ann", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), 0.125, 1234567.5, "a\tb\nc"}),
			f.SetSheetRow("Sheet1", "A4", &[]any{"船", nil, nil, -3, true}),
			f.SetCellStyle("Sheet1", "B3", "B3", date), f.SetCellStyle("Sheet1", "C3", "C3", percent), f.SetCellStyle("Sheet1", "D3", "D3", amount),
			f.SetCellFormula("Sheet1", "B4", "1+1"),
			f.SetCellValue("Hidden", "A1", "x"), f.SetSheetVisible("Hidden", false),
			f.SetDocProps(&excelize.DocProperties{Title: "Crew", Creator: "A. Writer", Created: "2024-02-29T12:00:00Z", Modified: "2024-03-01T00:00:00Z"}),
		)
	})
	d := read(t, request(book, contenttype.XLSX))
	want := []Table{
		{Caption: "Sheet1", Header: true, Rows: [][]string{
			{"Name", "Born", "Share", "Price", "Text"}, {"Ann", "02-29-24", "12.50%", "1,234,567.50", "a\tb\nc"}, {"船", "", "", "-3", "TRUE"}}},
		{Caption: "Hidden (hidden sheet)", Rows: [][]string{{"x"}}},
	}
	if diff := cmp.Diff(want, d.Tables()); diff != "" {
		t.Error(diff)
	}
	if got, want := d.Text(), "Sheet1\nName\tBorn\tShare\tPrice\tText\nAnn\t02-29-24\t12.50%\t1,234,567.50\ta b c\n船\t\t\t-3\tTRUE\n\nHidden (hidden sheet)\nx"; got != want {
		t.Errorf("text %q", got)
	}
	if d.Pages != 3 || !warned(d, "sheet") || d.About.Title != "Crew" || d.About.Byline != "A. Writer" || d.About.Modified != "2024-03-01T00:00:00Z" {
		t.Errorf("%d sheets, %q, %+v", d.Pages, d.Warnings, d.About)
	}
}

func TestLongWorkbooksAreReadUpToTheLimit(t *testing.T) {
	book := bookOf(t, func(f *excelize.File) error {
		w, err := f.NewStreamWriter("Sheet1")
		if err != nil {
			return err
		}
		for i := range 5000 {
			at, _ := excelize.CoordinatesToCellName(1, i+1)
			if err := w.SetRow(at, []any{"a row of some words", i}); err != nil {
				return err
			}
		}
		return w.Flush()
	})
	in := request(book, contenttype.XLSX)
	in.MaxText = 10_000
	d := read(t, in)
	rows := len(d.Tables()[0].Rows)
	if !d.Cut || !warned(d, "sheet_limit") || rows < 400 || rows > 600 {
		t.Errorf("%d rows, cut %t, %q", rows, d.Cut, d.Warnings)
	}
}

func TestHeadersOfTables(t *testing.T) {
	tests := []struct {
		name string
		rows [][]string
		want bool
	}{
		{"names over values", [][]string{{"Name", "Age"}, {"Ann", "7"}}, true},
		{"names in Chinese", [][]string{{"姓名", "年龄"}, {"安", "7"}}, true},
		{"names with a year in them", [][]string{{"Sales 2024", "Costs"}, {"1", "2"}}, true},
		{"one row alone", [][]string{{"Name", "Age"}}, false},
		{"a number among the names", [][]string{{"Name", "7"}, {"Ann", "8"}}, false},
		{"a name twice", [][]string{{"a", "a"}, {"b", "c"}}, false},
		{"a gap", [][]string{{"a", ""}, {"b", "c"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := looksLikeHeader(tt.rows); got != tt.want {
				t.Errorf("%t", got)
			}
		})
	}
}
