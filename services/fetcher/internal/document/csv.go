package document

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
)

// readCSV reads a table of text. Its text stays as it came; the table is what the
// delimiter makes of it.
func readCSV(ctx context.Context, in *Request) (*Document, error) {
	d := &Document{Kind: KindSpreadsheet, Plain: in.Text}
	comma, named := delimiter(in.Text)
	if in.Type == contenttype.TSV {
		comma, named = '\t', ""
	}
	if named != "" {
		d.warn("delimiter: the columns are taken to be apart by %s", named)
	}
	text := in.Text
	if rest, is := strings.CutPrefix(text, "sep="); is { // Excel's own first line
		if _, after, found := strings.Cut(rest, "\n"); found {
			text = after
		}
	}
	dec := csv.NewReader(strings.NewReader(text))
	dec.Comma, dec.LazyQuotes, dec.FieldsPerRecord = comma, true, -1
	s := sheets{doc: d, w: writer{doc: d, left: in.MaxText}, cells: maxCells}
	table := &Table{}
	for {
		row, err := dec.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			d.warn("csv: only the first %d rows are a table: %v", s.lastRow, err)
			break
		}
		if s.lastRow++; s.lastRow%1000 == 0 && ctx.Err() != nil {
			d.Cut = true
			d.warn("time_limit: only the first %d rows were read within %s", s.lastRow, maxTime)
			break
		}
		if !s.take(table, row) {
			d.warn("row_limit: only the first %d rows were read as a table", s.lastRow)
			break
		}
	}
	s.warnings()
	table.trim()
	if len(table.Rows) > 0 {
		table.Header = looksLikeHeader(table.Rows)
		d.Table = table
	}
	return d, nil
}

// delimiters are told apart in this order where they fit equally well.
var delimiters = []struct {
	mark rune
	name string
}{{',', ""}, {'\t', "tabs"}, {';', "semicolons"}, {'|', "bars"}}

// sampleLines is how many lines the delimiter is told by.
const sampleLines = 50

// delimiter is the one that cuts the first lines into the same number of fields,
// more than one. Its name is empty for the comma.
func delimiter(text string) (mark rune, name string) {
	if rest, is := strings.CutPrefix(text, "sep="); is && len(rest) > 1 && (rest[1] == '\r' || rest[1] == '\n') {
		for _, d := range delimiters {
			if rune(rest[0]) == d.mark {
				return d.mark, d.name
			}
		}
	}
	best := 0.0
	mark = ','
	for _, d := range delimiters {
		if score := fit(text, d.mark); score > best {
			best, mark, name = score, d.mark, d.name
		}
	}
	return mark, name
}

// fit says how well a delimiter fits: the share of lines that have as many fields
// as most have, weighed by how many these are; 0 when there is one field only.
func fit(text string, mark rune) float64 {
	dec := csv.NewReader(strings.NewReader(firstLines(text)))
	dec.Comma, dec.LazyQuotes, dec.FieldsPerRecord, dec.ReuseRecord = mark, true, -1, true
	counts := map[int]int{}
	lines := 0
	for lines < sampleLines {
		row, err := dec.Read()
		if err != nil {
			break
		}
		counts[len(row)]++
		lines++
	}
	score := 0.0
	for fields, n := range counts {
		if fields > 1 {
			share := float64(n) / float64(lines)
			score = max(score, share*share*(2-1/float64(fields)))
		}
	}
	return score
}

// firstLines bounds the sample.
func firstLines(text string) string {
	const sampleBytes = 64 << 10
	if len(text) <= sampleBytes {
		return text
	}
	if at := strings.LastIndexByte(text[:sampleBytes], '\n'); at > 0 {
		return text[:at+1]
	}
	return firstBytes(text, sampleBytes)
}
