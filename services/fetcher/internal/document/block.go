package document

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// BlockKind is what a block is.
type BlockKind int

// Block kinds.
const (
	Paragraph BlockKind = iota
	Heading
	ListItem
	TableBlock
	// PageMark begins a page; its text names it.
	PageMark
	// Lines is text whose line breaks matter.
	Lines
	// Note is a footnote; its number is what the text refers to it by.
	Note
)

// Block is one part of a document.
type Block struct {
	Kind BlockKind
	// Level is 1 to 6 for a heading, the depth from 0 for a list item.
	Level int
	// Number is that of a note or of an item of a numbered list; 0 for a bullet.
	Number int
	Spans  []Span
	Table  *Table
}

// Span is text in one style.
type Span struct {
	Text                 string
	Bold, Italic, Strike bool
	// URL is where a link leads.
	URL string
	// Note is the number of a note that is referred to; such a span has no text.
	Note int
}

// plain is the text of a span.
func (s Span) plain() string {
	if s.Note > 0 {
		return "[" + strconv.Itoa(s.Note) + "]"
	}
	return s.Text
}

// Table is a table of data.
type Table struct {
	// Caption, or name of the sheet.
	Caption string
	// Header says that the first row names the columns.
	Header bool
	// Rows have the same length.
	Rows [][]string
}

// Text is the text of a block without style.
func (b Block) Text() string {
	if len(b.Spans) == 1 {
		return b.Spans[0].plain()
	}
	var out strings.Builder
	for _, s := range b.Spans {
		out.WriteString(s.plain())
	}
	return out.String()
}

func plainBlock(kind BlockKind, level int, text string) Block {
	return Block{Kind: kind, Level: level, Spans: []Span{{Text: text}}}
}

// writer collects blocks until they have as many bytes as may be read.
type writer struct {
	doc  *Document
	left int // bytes
	over bool
}

// spanCost is what a block or span costs beside its text, in bytes: thousands of
// empty ones are a document, too.
const spanCost = 16

// add appends a block and says whether there is room for more. Text over the
// limit is cut off, which full tells.
func (w *writer) add(b Block) bool {
	for i := range b.Spans {
		b.Spans[i].Text = w.take(b.Spans[i].Text)
	}
	w.push(b)
	return !w.full()
}

// push appends a block whose text was taken already.
func (w *writer) push(b Block) {
	w.left -= spanCost
	w.doc.Blocks = append(w.doc.Blocks, b)
}

// take is as much of s as there is room for.
func (w *writer) take(s string) string {
	if len(s) <= w.left {
		w.left -= len(s)
		return s
	}
	s = firstBytes(s, max(w.left, 0))
	w.doc.Cut, w.over, w.left = true, true, 0
	return s
}

// full says that nothing more may be read.
func (w *writer) full() bool { return w.over }

// firstBytes is at most limit bytes of s, in whole characters.
func firstBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// pad makes rows as long as the longest one.
func pad(rows [][]string) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r))
	}
	for i, r := range rows {
		if len(r) < width {
			rows[i] = append(r[:len(r):len(r)], make([]string, width-len(r))...)
		}
	}
}
