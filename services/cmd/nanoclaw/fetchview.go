package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pagecontent"
)

// busy shows what is being waited for on a terminal, until the function that it
// gives is called.
func (c *cli) busy(words string) (done func()) {
	if !terminal.Is(c.stderr) || c.getenv("TERM") == "dumb" {
		return func() {}
	}
	_, _ = fmt.Fprint(c.stderr, terminal.Line(words, maxCell)+" ...")
	return func() { _, _ = fmt.Fprint(c.stderr, "\r\x1b[K") }
}

// printContent prints what was extracted: text as it is, links and images one a
// line with the address first, tables as CSV, metadata as "name: value", parts
// of a page as Markdown.
func printContent(to io.Writer, extract string, content *fetcherv1.PageContent, about *fetcherv1.PageMetadata) error {
	var out strings.Builder
	switch extract {
	case pagecontent.Links:
		for _, l := range content.GetLinks() {
			fmt.Fprintf(&out, "%s\t%s\n", l.GetUrl(), terminal.Line(l.GetText(), maxCell))
		}
	case pagecontent.Images:
		for _, i := range content.GetImages() {
			fmt.Fprintf(&out, "%s\t%s\n", i.GetSrc(), terminal.Line(i.GetAlt(), maxCell))
		}
	case pagecontent.Structured:
		writeStructured(&out, content.GetStructured())
	case pagecontent.Tables:
		if err := writeTables(&out, content.GetTables()); err != nil {
			return err
		}
	case pagecontent.Feed:
		writeFeed(&out, content.GetFeed())
	case pagecontent.Metadata:
		writeMetadata(&out, about)
	case pagecontent.Markdown:
		writeText(&out, content.GetMarkdown())
	case pagecontent.Raw:
		writeText(&out, content.GetRaw())
	case pagecontent.FullText:
		writeText(&out, content.GetFullText())
	default:
		writeText(&out, content.GetText())
	}
	_, err := io.WriteString(to, out.String())
	return err
}

// writeText ends with the end of a line.
func writeText(out *strings.Builder, text string) {
	out.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		out.WriteByte('\n')
	}
}

func writeStructured(out *strings.Builder, page *fetcherv1.StructuredPage) {
	fmt.Fprintf(out, "title: %s\n", terminal.Line(page.GetTitle(), maxSnippet))
	for _, name := range slices.Sorted(maps.Keys(page.GetMeta())) {
		fmt.Fprintf(out, "%s: %s\n", name, terminal.Line(page.GetMeta()[name], maxSnippet))
	}
	for _, h := range page.GetHeadings() {
		fmt.Fprintf(out, "\n%s %s\n", strings.Repeat("#", int(h.GetLevel())), terminal.Line(h.GetText(), maxSnippet))
	}
	for _, p := range page.GetParagraphs() {
		fmt.Fprintf(out, "\n%s\n", p)
	}
}

// writeTables writes CSV; tables are apart by an empty line, captions are
// comments, and what a spreadsheet would calculate is made inert.
func writeTables(out *strings.Builder, tables []*fetcherv1.Table) error {
	for i, t := range tables {
		if i > 0 {
			out.WriteByte('\n')
		}
		if t.GetCaption() != "" {
			fmt.Fprintf(out, "# %s\n", terminal.Line(t.GetCaption(), maxSnippet))
		}
		w := csv.NewWriter(out)
		for _, row := range t.GetRows() {
			cells := make([]string, len(row.GetCells()))
			for i, cell := range row.GetCells() {
				cells[i] = cell
				if _, err := strconv.ParseFloat(cell, 64); err != nil { // an amount may begin with a minus
					cells[i] = inertCell(cell)
				}
			}
			if err := w.Write(cells); err != nil {
				return err
			}
		}
		w.Flush()
		if err := w.Error(); err != nil {
			return err
		}
	}
	return nil
}

func writeFeed(out *strings.Builder, feed *fetcherv1.Feed) {
	if feed == nil {
		return
	}
	fmt.Fprintf(out, "%s\n", terminal.Line(feed.GetTitle(), maxSnippet))
	for _, i := range feed.GetItems() {
		fmt.Fprintf(out, "\n%s\n", terminal.Line(i.GetTitle(), maxSnippet))
		for _, s := range []string{i.GetUrl(), i.GetPublished(), i.GetAuthor(), i.GetSummary()} {
			if s != "" {
				fmt.Fprintf(out, "   %s\n", terminal.Line(s, maxSnippet))
			}
		}
	}
}

// writeMetadata writes what is known, one thing a line.
func writeMetadata(out *strings.Builder, m *fetcherv1.PageMetadata) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "%s: %s\n", name, terminal.Line(value, maxSnippet))
		}
	}
	line("title", m.GetTitle())
	line("byline", m.GetByline())
	line("published", m.GetPublished())
	line("modified", m.GetModified())
	line("language", m.GetLanguage())
	line("site_name", m.GetSiteName())
	line("description", m.GetDescription())
	line("canonical", m.GetCanonical())
	line("page_type", m.GetPageType())
	line("detected_type", m.GetDetectedType())
	line("charset", m.GetCharset())
	if m.GetPages() > 0 {
		line("pages", fmt.Sprint(m.GetPages()))
	}
	for _, name := range slices.Sorted(maps.Keys(m.GetProperties())) {
		line(name, m.GetProperties()[name])
	}
}
