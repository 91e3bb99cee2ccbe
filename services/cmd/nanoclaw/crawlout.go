package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pagecontent"
)

// The forms of crawl results.
const (
	formatJSONL    = "jsonl"
	formatCSV      = "csv"
	formatMarkdown = "md"
)

// outFlags say in which form results are written, and where.
type outFlags struct {
	format choice
	file   string
}

// newOutFlags have Markdown until somebody says otherwise.
func newOutFlags() outFlags {
	return outFlags{format: choice{value: formatMarkdown, allowed: []string{formatJSONL, formatCSV, formatMarkdown}}}
}

// chosen is the form to write: as said, else by the end of the file's name.
func (o *outFlags) chosen(said bool) string {
	if extension := strings.TrimPrefix(filepath.Ext(o.file), "."); !said && extension != "" {
		switch extension {
		case formatJSONL, "ndjson":
			return formatJSONL
		case formatCSV:
			return formatCSV
		}
	}
	return o.format.value
}

// resultWriter writes the results of crawl tasks, one after the other.
type resultWriter interface {
	write(task string, r *taskmanagerv1.CrawlResult) error
}

// newResultWriter writes to w in a form of outFlags.
func newResultWriter(w io.Writer, format string) resultWriter {
	switch format {
	case formatJSONL:
		return jsonlResults{w}
	case formatCSV:
		return &csvResults{w: csv.NewWriter(w)}
	}
	return markdownResults{w}
}

// jsonlResults writes a result a line, in the form of the REST interface, with
// the id of its task before.
type jsonlResults struct{ w io.Writer }

func (j jsonlResults) write(task string, r *taskmanagerv1.CrawlResult) error {
	line, err := resultJSON(task, r)
	if err != nil {
		return err
	}
	_, err = j.w.Write(append(line, '\n'))
	return err
}

// resultJSON is a result with the id of its task.
func resultJSON(task string, r *taskmanagerv1.CrawlResult) ([]byte, error) {
	text, err := encodeJSON(r)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"task_id":%q,%s`, task, text[1:]), nil // an id is plain ASCII
}

// csvResults writes a row an address under a head.
type csvResults struct {
	w     *csv.Writer
	begun bool
}

var csvHead = []string{"url", "ok", "status_code", "title", "error", "reason", "duration_ms", "content"}

func (c *csvResults) write(_ string, r *taskmanagerv1.CrawlResult) error {
	if !c.begun {
		c.begun = true
		if err := c.w.Write(csvHead); err != nil {
			return err
		}
	}
	content, err := contentText(r)
	if err != nil {
		return err
	}
	row := []string{
		r.GetUrl(), strconv.FormatBool(r.GetOk()), strconv.Itoa(int(r.GetStatusCode())), r.GetData().GetMetadata().GetTitle(),
		r.GetError().GetError(), r.GetError().GetReason(), strconv.Itoa(int(r.GetDurationMs())), content,
	}
	for i := range row {
		row[i] = inertCell(row[i])
	}
	if err := c.w.Write(row); err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}

// inertCell keeps a spreadsheet from calculating what a page says: a cell that
// looks like a formula gets an apostrophe before it (OWASP, CSV Injection).
func inertCell(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// markdownResults writes pages for people, one under the other.
type markdownResults struct{ w io.Writer }

func (m markdownResults) write(_ string, r *taskmanagerv1.CrawlResult) error {
	if !r.GetOk() {
		e := r.GetError()
		_, err := fmt.Fprintf(m.w, "# %s\n\nNot fetched: %s\n\n---\n\n", terminal.Line(r.GetUrl(), maxSnippet), reasonWords(e))
		return err
	}
	content, err := contentText(r)
	if err != nil {
		return err
	}
	if r.GetData().GetTruncated() {
		content += "\n(cut)\n"
	}
	title := terminal.Line(r.GetData().GetMetadata().GetTitle(), maxSnippet)
	if title == "" {
		title = "(no title)"
	}
	_, err = fmt.Fprintf(m.w, "# %s\n\n<%s>\n\n%s\n---\n\n", title, r.GetUrl(), content)
	return err
}

// contentText is what was extracted, as "nanoclaw fetch" prints it.
func contentText(r *taskmanagerv1.CrawlResult) (string, error) {
	var out strings.Builder
	content := r.GetData().GetContent()
	err := printContent(&out, kindOf(content), content, r.GetData().GetMetadata())
	return out.String(), err
}

// kindOf is the extract type that content is of.
func kindOf(c *fetcherv1.PageContent) string {
	switch {
	case c.GetStructured() != nil:
		return pagecontent.Structured
	case len(c.GetLinks()) > 0:
		return pagecontent.Links
	case len(c.GetImages()) > 0:
		return pagecontent.Images
	case len(c.GetTables()) > 0:
		return pagecontent.Tables
	case c.GetFeed() != nil:
		return pagecontent.Feed
	case c.GetMarkdown() != "":
		return pagecontent.Markdown
	case c.GetRaw() != "":
		return pagecontent.Raw
	case c.GetFullText() != "":
		return pagecontent.FullText
	}
	return pagecontent.Text
}

// reasonWords are the words of a failure with its stable reason.
func reasonWords(e *taskmanagerv1.CrawlError) string {
	words := terminal.Line(e.GetError(), maxSnippet)
	if e.GetReason() != "" {
		words += " (" + e.GetReason() + ")"
	}
	return words
}
