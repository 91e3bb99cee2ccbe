package document

import (
	"fmt"
	"strings"
	"time"
)

// Kinds of documents, as page types name them.
const (
	KindDocument     = "document"
	KindSpreadsheet  = "spreadsheet"
	KindPresentation = "presentation"
	KindImage        = "image"
	KindFeed         = "feed"
	KindData         = "data"
)

// Document is what was read of a document.
type Document struct {
	// Kind is one of the kinds; empty for plain text.
	Kind string
	// Blocks are the content in order, unless Plain has it.
	Blocks []Block
	// Plain is the content of formats that are text already; Language is how
	// Markdown calls it in a code block, empty for text that stands as it is.
	Plain    string
	Language string
	// Table is the table that Plain is, of CSV; nil for everything else.
	Table *Table
	// Feed is the feed, of feeds.
	Feed *Feed
	// About is what the document says about itself.
	About About
	// Pages are its pages, sheets or slides; 0 for what has none.
	Pages int
	// Hidden is how many characters were left out because they are marked as
	// hidden.
	Hidden int
	// Warnings are what went less than well, each "name: words".
	Warnings []string
	// Cut says that the document has more content than was read.
	Cut bool
}

// About is what a document says about itself; what it does not say is empty.
type About struct {
	Title, Byline, Description, Language string
	// Published and Modified are RFC 3339.
	Published, Modified string
	// Properties are more, by name.
	Properties map[string]string
}

// set keeps a property that is not empty.
func (a *About) set(name, value string) {
	if value = oneLine(value, maxProperty); value == "" {
		return
	}
	if a.Properties == nil {
		a.Properties = map[string]string{}
	}
	a.Properties[name] = value
}

// maxProperty is the longest property, in bytes.
const maxProperty = 1000

func (d *Document) warn(format string, args ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
}

// oneLine folds white space and cuts at a character.
func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	return firstBytes(s, most)
}

// moment reads a time of a document's properties; what is none is empty.
func moment(s string) string {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 0 && t.Year() < 10000 {
			return t.Format(time.RFC3339)
		}
	}
	return ""
}
