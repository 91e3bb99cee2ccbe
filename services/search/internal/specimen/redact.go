package specimen

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// What stands in place of what was taken out.
const (
	placeholderQuery = "[query]"
	placeholderMail  = "[mail]"
	placeholderIP    = "[address]"
	placeholderValue = "[value]"
	placeholderToken = "[token]"
)

var (
	mail   = regexp.MustCompile(`[A-Za-z0-9._%+-]+(?:@|%40|(?i:&#0*64;|&#x0*40;|&commat;|\\u0040|\\x40))[A-Za-z0-9.-]+\.[A-Za-z]{2,}`)
	ipv4   = regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}\b`)
	ipv6   = regexp.MustCompile(`(?i)\b(?:[0-9a-f]{1,4}:){1,7}(?::[0-9a-f]{1,4}){1,6}\b|\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}\b`)
	hidden = regexp.MustCompile(`(?i)<input\b[^>]*\btype\s*=\s*["']?hidden\b[^>]*>`)
	value  = regexp.MustCompile(`(?i)(\bvalue\s*=\s*)("[^"]*"|'[^']*'|[^\s>"']+)`)
	opaque = regexp.MustCompile(`[A-Za-z0-9_+=%-]{24,}`)
)

// redact gives the first MaxBytes of an answer without what belongs to the
// person who asked or to our side of the connection: the query in every form in
// which a page repeats it, addresses of mail and of the network, values of
// hidden fields, and long opaque strings such as tokens. It reports whether the
// answer was cut. What is left shows how the page is built.
func redact(body []byte, query string) (redacted []byte, cut bool) {
	text := strings.ToValidUTF8(string(body), "\uFFFD")
	// What is taken out may reach over the end of what is kept.
	text, cut = first(text, 2*MaxBytes)
	text = withoutQuery(text, query)
	text = hidden.ReplaceAllStringFunc(text, func(tag string) string {
		return value.ReplaceAllString(tag, `${1}"`+placeholderValue+`"`)
	})
	text = mail.ReplaceAllString(text, placeholderMail)
	text = ipv4.ReplaceAllString(text, placeholderIP)
	text = ipv6.ReplaceAllString(text, placeholderIP)
	text = opaque.ReplaceAllStringFunc(text, func(s string) string {
		if strings.ContainsAny(s, "0123456789") && strings.ContainsFunc(s, isLetter) {
			return placeholderToken
		}
		return s
	})
	text, more := first(text, MaxBytes)
	return []byte(text), cut || more
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// first cuts a text to a number of bytes, between characters.
func first(text string, limit int) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], true
}

// minWord is how many bytes a word of the query needs to be taken out where it
// stands alone.
const minWord = 5

// withoutQuery takes the query out: whole, as it stands in pages, addresses and
// scripts, and its longer words one by one.
func withoutQuery(text, query string) string {
	query = strings.Join(strings.Fields(strings.ToValidUTF8(query, "")), " ")
	if query == "" {
		return text
	}
	forms := written(query)
	for word := range strings.FieldsSeq(query) {
		if len(word) >= minWord {
			forms = append(forms, written(word)...)
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	forms = slices.Compact(forms)
	quotedForms := make([]string, len(forms))
	for i, f := range forms {
		quotedForms[i] = regexp.QuoteMeta(f)
	}
	return regexp.MustCompile(`(?i)`+strings.Join(quotedForms, "|")).ReplaceAllString(text, placeholderQuery)
}

// written is a text as it may stand in a page, an address or a script.
func written(s string) []string {
	var script, decimal, hexadecimal strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			for _, b := range []*strings.Builder{&script, &decimal, &hexadecimal} {
				b.WriteRune(r)
			}
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&script, `\u%04x`, unit)
		}
		fmt.Fprintf(&decimal, "&#%d;", r)
		fmt.Fprintf(&hexadecimal, "&#x%x;", r)
	}
	query := url.QueryEscape(s)
	return []string{
		s, html.EscapeString(s), query, url.PathEscape(s), strings.ReplaceAll(query, "+", "%20"),
		url.QueryEscape(query), // an address within an address
		strings.ReplaceAll(s, `"`, `\"`), strings.ReplaceAll(script.String(), `"`, `\"`), decimal.String(), hexadecimal.String(),
	}
}
