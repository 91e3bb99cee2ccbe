package document

import (
	"strconv"
	"strings"
)

// Text is the content without markup: blocks apart by an empty line, the cells of
// a row apart by tabs.
func (d *Document) Text() string {
	if d.Blocks == nil {
		return d.Plain
	}
	var out strings.Builder
	for i, b := range d.Blocks {
		out.WriteString(d.gap(i))
		switch b.Kind {
		case TableBlock:
			if b.Table.Caption != "" {
				out.WriteString(b.Table.Caption)
				out.WriteByte('\n')
			}
			for j, row := range b.Table.Rows {
				if j > 0 {
					out.WriteByte('\n')
				}
				for k, cell := range row {
					if k > 0 {
						out.WriteByte('\t')
					}
					out.WriteString(flatCell(cell))
				}
			}
		case ListItem:
			out.WriteString(strings.Repeat("  ", b.Level))
			out.WriteString(b.marker())
			out.WriteString(b.Text())
		case PageMark:
			out.WriteString("[" + b.Text() + "]")
		case Note:
			out.WriteString("[" + strconv.Itoa(b.Number) + "] " + b.Text())
		default:
			out.WriteString(b.Text())
		}
	}
	return out.String()
}

// Markdown is the content as CommonMark with the tables of GitHub.
func (d *Document) Markdown() string {
	if d.Table != nil {
		var out strings.Builder
		writeTable(&out, d.Table)
		return out.String()
	}
	if d.Blocks == nil {
		return Fenced(d.Plain, d.Language)
	}
	var out strings.Builder
	for i, b := range d.Blocks {
		out.WriteString(d.gap(i))
		switch b.Kind {
		case TableBlock:
			writeTable(&out, b.Table)
		case Heading:
			out.WriteString(strings.Repeat("#", min(max(b.Level, 1), 6)) + " ")
			writeSpans(&out, b.Spans, true)
		case PageMark:
			out.WriteString("## " + escape(b.Text(), true))
		case Note:
			out.WriteString("[^" + strconv.Itoa(b.Number) + "]: ")
			writeSpans(&out, b.Spans, true)
		case ListItem:
			out.WriteString(strings.Repeat("    ", b.Level))
			out.WriteString(b.marker())
			writeSpans(&out, b.Spans, true)
		case Lines:
			for j, line := range strings.Split(b.Text(), "\n") {
				if j > 0 {
					out.WriteString("\n")
				}
				out.WriteString(escape(strings.TrimSpace(line), true))
			}
		default:
			writeSpans(&out, b.Spans, false)
		}
	}
	return out.String()
}

// gap is what stands before block i: items of one list are not apart.
func (d *Document) gap(i int) string {
	switch {
	case i == 0:
		return ""
	case d.Blocks[i].Kind == ListItem && d.Blocks[i-1].Kind == ListItem:
		return "\n"
	}
	return "\n\n"
}

func (b Block) marker() string {
	if b.Number > 0 {
		return strconv.Itoa(b.Number) + ". "
	}
	return "- "
}

// Tables are the tables of the document in order.
func (d *Document) Tables() []Table {
	var out []Table
	if d.Table != nil {
		out = append(out, *d.Table)
	}
	for _, b := range d.Blocks {
		if b.Kind == TableBlock {
			out = append(out, *b.Table)
		}
	}
	return out
}

// Link is a link of a document.
type Link struct{ Text, URL string }

// Links are the links of the document in order, each address once.
func (d *Document) Links() []Link {
	var out []Link
	seen := map[string]bool{}
	for _, b := range d.Blocks {
		for _, s := range b.Spans {
			if s.URL != "" && !seen[s.URL] {
				seen[s.URL] = true
				out = append(out, Link{Text: strings.Join(strings.Fields(s.Text), " "), URL: s.URL})
			}
		}
	}
	return out
}
