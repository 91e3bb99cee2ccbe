// Package language guesses what language a query is written in, as far as the
// script alone tells. Engines that are asked in the wrong market answer with
// odd or empty pages (searxng#2641).
package language

import "unicode"

// Of gives the ISO 639-1 code that the query's script suggests, or "" when the
// script is shared by many languages (Latin) or absent. Kana anywhere means
// Japanese, since Chinese has none.
func Of(query string) string {
	han, hangul, cyrillic, arabic, hebrew, thai, greek := 0, 0, 0, 0, 0, 0, 0
	for _, r := range query {
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return "ja"
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic++
		case unicode.Is(unicode.Arabic, r):
			arabic++
		case unicode.Is(unicode.Hebrew, r):
			hebrew++
		case unicode.Is(unicode.Thai, r):
			thai++
		case unicode.Is(unicode.Greek, r):
			greek++
		}
	}
	code, most := "", 0
	for _, c := range []struct {
		code string
		n    int
	}{{"zh", han}, {"ko", hangul}, {"ru", cyrillic}, {"ar", arabic}, {"he", hebrew}, {"th", thai}, {"el", greek}} {
		if c.n > most {
			code, most = c.code, c.n
		}
	}
	// A single Greek or Cyrillic letter in a formula names no language.
	if most == 1 && code != "zh" {
		return ""
	}
	return code
}
