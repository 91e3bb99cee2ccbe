package adapter

import (
	"html"
	"regexp"
	"strings"
	"unicode"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
)

// doubled are the entities that engines are seen to escape twice.
var doubled = regexp.MustCompile(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|quot|apos|amp);`)

// CleanText is fold for the texts of engines, which are seen to escape them twice
// ("It&#x27;s" as page text). Names such as &nbsp; stay: they may be what a page
// is about.
func CleanText(s string) string {
	return fold(doubled.ReplaceAllStringFunc(s, html.UnescapeString))
}

// fold is a text as one line, with each run of white space as one blank. What
// engines sprinkle in to steer lines is no text: a space without width is a blank,
// joiners of words go, and marks of direction stay where a text has letters that
// are written from the right.
func fold(s string) string {
	marks := strings.ContainsFunc(s, cleanse.IsRightToLeft)
	s = strings.Map(func(r rune) rune {
		if r == '\u2060' || r == '\ufeff' || !marks && cleanse.IsDirectionMark(r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.FieldsFunc(s, isBlank), " ")
}

// Line is CleanText for a query that stands in a line, cut like a snippet.
func Line(s string) string { return clip(CleanText(s), maxSnippetRunes) }

func isBlank(r rune) bool { return r == '\u200b' || unicode.IsSpace(r) || unicode.IsControl(r) }

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
