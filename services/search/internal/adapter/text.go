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
