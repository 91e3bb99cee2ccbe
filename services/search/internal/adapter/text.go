package adapter

import (
	"html"
	"regexp"
	"strings"
	"unicode"
)

// doubled are the entities that engines are seen to escape twice.
var doubled = regexp.MustCompile(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|quot|apos|amp);`)

// CleanText folds white space and undoes a second escaping ("It&#x27;s" as
// page text). Names such as &nbsp; stay: they may be what a page is about.
func CleanText(s string) string {
	s = doubled.ReplaceAllStringFunc(s, html.UnescapeString)
	return strings.Join(strings.FieldsFunc(s, isBlank), " ")
}

// isBlank takes invisible formatting characters for white space too: engines
// sprinkle them between words to steer line breaks.
func isBlank(r rune) bool {
	switch r {
	case '\u200b', '\u200e', '\u200f', '\ufeff', '\u2060':
		return true
	}
	return unicode.IsSpace(r) || unicode.IsControl(r)
}

// CleanLines is CleanText for texts of several lines: it keeps the line breaks,
// at most two in a row.
func CleanLines(s string) string {
	var b strings.Builder
	gap := 0
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\r\n", "\n"), "\n") {
		line = CleanText(line)
		if line == "" {
			gap++
			continue
		}
		if b.Len() > 0 {
			b.WriteString(strings.Repeat("\n", min(gap, 1)+1))
		}
		b.WriteString(line)
		gap = 0
	}
	return b.String()
}

// markup are the tags with which APIs set off the words of the query.
var markup = regexp.MustCompile(`</?(?:strong|em|b|mark|span)(?: [^<>]*)?>`)

// PlainText is CleanText for texts in which the words of the query are set off
// with tags.
func PlainText(s string) string {
	return CleanText(html.UnescapeString(markup.ReplaceAllString(s, "")))
}
