package adapter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// firstWords keeps the first n words of a text.
func firstWords(text string, n int) string {
	words := 0
	inWord := false
	for i, r := range text {
		blank := unicode.IsSpace(r)
		if inWord && blank {
			if words == n {
				return text[:i]
			}
		}
		if !inWord && !blank {
			words++
		}
		inWord = !blank
	}
	return text
}

// firstRunes keeps at most n characters of a text. A word that is cut goes
// whole, unless next to nothing would be left: Chinese has no blanks to cut at.
func firstRunes(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	end := 0
	for i := range text {
		if n == 0 {
			end = i
			break
		}
		n--
	}
	cut := text[:end]
	next, _ := utf8.DecodeRuneInString(text[end:])
	if i := strings.LastIndexFunc(cut, unicode.IsSpace); i > end/2 && !unicode.IsSpace(next) {
		cut = cut[:i]
	}
	return strings.TrimSpace(cut)
}
