package search

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

func checkText(bad *faults, text string) {
	n := utf8.RuneCountInString(text)
	switch seen := visible(text); {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, isControl):
		bad.add("query", "has control characters or is no valid UTF-8; send plain text")
	case seen < MinQueryRunes:
		bad.add("query", fmt.Sprintf("has %d characters that can be seen; at least %d are needed", seen, MinQueryRunes))
	case n > MaxQueryRunes:
		bad.add("query", fmt.Sprintf("has %d characters; at most %d are taken", n, MaxQueryRunes))
	}
}

// isControl lets white space pass: it folds into blanks.
func isControl(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }

// visible counts the characters that a reader sees. Blanks, marks of the direction
// of writing and joiners are no query by themselves.
func visible(text string) int {
	n := 0
	for _, r := range text {
		if !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			n++
		}
	}
	return n
}

// country is the country of a code in ISO 3166-1 alpha-2, in capitals and as it is
// called today: UK is GB. It is empty for codes of groups, of nothing, and of
// another length.
func country(code string) string {
	if len(code) != len("US") {
		return ""
	}
	r, err := language.ParseRegion(code)
	if err != nil {
		return ""
	}
	if r = r.Canonicalize(); !r.IsCountry() {
		return ""
	}
	return r.String()
}

// firstDay is a day before there was a web.
var firstDay = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)

// checkDays reads a span of days, of which the first or the last may be missing.
// today is that of UTC: in the east tomorrow has begun.
func checkDays(bad *faults, first, last string, today time.Time) adapter.Freshness {
	if first == "" && last == "" {
		return adapter.Freshness{}
	}
	from, ok := readDay(bad, "published_from", first, firstDay)
	if !ok {
		return adapter.Freshness{}
	}
	if from.After(today.AddDate(0, 0, 1)) {
		bad.add("published_from", fmt.Sprintf("%s is in the future; send a day that has begun", first))
		return adapter.Freshness{}
	}
	end := today
	if from.After(end) {
		end = from
	}
	to, ok := readDay(bad, "published_to", last, end)
	if !ok {
		return adapter.Freshness{}
	}
	span := adapter.Between(from, to)
	switch {
	case span.To.Before(firstDay):
		bad.add("published_to", fmt.Sprintf("%s is before there was a web; send a day after 1990", last))
	case span.To.Before(span.From):
		bad.add("published_to", "is before published_from; send the earlier day first")
	}
	return span
}

// readDay is the day of a field, or other when it is not set. It is false when
// the field has something else.
func readDay(bad *faults, field, value string, other time.Time) (time.Time, bool) {
	if value == "" {
		return other, true
	}
	day, err := time.Parse(time.DateOnly, value)
	if err != nil {
		bad.add(field, fmt.Sprintf("%q is no day; send one such as 2025-12-31", value))
		return time.Time{}, false
	}
	return day, true
}
