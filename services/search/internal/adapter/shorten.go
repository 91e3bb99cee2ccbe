package adapter

import (
	"slices"
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

// firstRunes keeps at most n code points of a text, and whole characters. A word
// that is cut goes whole, unless next to nothing would be left: Chinese has no
// blanks to cut at. A term with an operator goes whole in any case.
func firstRunes(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	end := wholeCharacters(text, n)
	cut := text[:end]
	next, _ := utf8.DecodeRuneInString(text[end:])
	if unicode.IsSpace(next) {
		return strings.TrimSpace(cut)
	}
	i := strings.LastIndexFunc(cut, unicode.IsSpace)
	if i > end/2 || i > 0 && isOperator(cut[i:]) {
		cut = cut[:i]
	}
	return strings.TrimSpace(cut)
}

// wholeCharacters is where to cut after at most n code points without parting a
// letter from its accents, or an emoji from what it is joined with.
func wholeCharacters(text string, n int) int {
	var ends []int // of the first n code points
	for i := range text {
		if i > 0 {
			ends = append(ends, i)
		}
		if len(ends) == n {
			break
		}
	}
	for k := len(ends) - 1; k >= 0; k-- {
		if !joined(text[:ends[k]], text[ends[k]:]) {
			return ends[k]
		}
	}
	return ends[len(ends)-1] // one character longer than all there is room for
}

// joined reports whether a boundary is within a character as people see it: the
// rules of Unicode (UAX 29) that matter to queries.
func joined(before, after string) bool {
	const (
		joiner = '\u200d'
		vowel  = '\u1160' // from here on, conjoining vowels and finals of Hangul
		final  = '\u11ff'
	)
	prev, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	switch {
	case prev == joiner, next == joiner, unicode.IsMark(next):
		return true
	case next >= '\U0001F3FB' && next <= '\U0001F3FF', next >= '\U000E0020' && next <= '\U000E007F':
		return true // the colour of a skin, the tags of a flag
	case next >= vowel && next <= final:
		return true
	case unicode.Is(unicode.Regional_Indicator, prev) && unicode.Is(unicode.Regional_Indicator, next):
		run := 0
		for unicode.Is(unicode.Regional_Indicator, prev) {
			run++
			before = strings.TrimSuffix(before, string(prev))
			prev, _ = utf8.DecodeLastRuneInString(before)
		}
		return run%2 == 1
	}
	return false
}

// isOperator reports whether a term is more than a word: "-word", "site:x.com"
// or the beginning of a phrase.
func isOperator(term string) bool {
	term = strings.TrimLeft(strings.TrimSpace(term), "(")
	return strings.HasPrefix(term, "-") || strings.HasPrefix(term, `"`) || strings.HasPrefix(term, "+") || strings.Contains(term, ":")
}

// tidy mends what a cut left open at the end of a query: a connective without
// its second half, a phrase without its closing mark, a group without its
// bracket. The words of an open phrase stay as words, but what it was the object
// of an operator for goes with it.
func tidy(cut string) string {
	text := cut
	if strings.Count(text, `"`)%2 == 1 {
		i := strings.LastIndexByte(text, '"')
		head := strings.TrimRightFunc(text[:i], func(r rune) bool { return !unicode.IsSpace(r) && r != '(' })
		if head == text[:i] {
			head += text[i+1:]
		}
		text = head
	}
	for {
		text = strings.TrimSpace(text)
		i := strings.LastIndexFunc(text, unicode.IsSpace)
		if i < 0 || !slices.Contains([]string{"OR", "AND", "NOT", "|", "&", "-", "+", "("}, text[i+1:]) {
			break
		}
		text = text[:i]
	}
	for strings.Count(text, "(") > strings.Count(text, ")") {
		i := strings.LastIndexByte(text, '(')
		text = text[:i] + text[i+1:]
	}
	if text = strings.TrimSpace(text); text == "" {
		return cut
	}
	return text
}
