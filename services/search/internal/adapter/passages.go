package adapter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// FitPassages cuts the passages of results, the last ones first, until together
// they are within a budget of tokens, and reports how many it cut or took out.
// A budget of 0 or less lets everything stay.
func FitPassages(results []Result, budget int) (changed int) {
	if budget <= 0 {
		return 0
	}
	for i := range results {
		var kept []Passage
		for _, p := range results[i].Passages {
			need := tokens(p.Text)
			switch {
			case need <= budget:
				budget -= need
			case budget >= minPassageTokens && p.Kind == Prose:
				p.Text, p.Cut = firstTokens(p.Text, budget), true
				budget = 0
				changed++
			default:
				changed++
				continue
			}
			kept = append(kept, p)
		}
		results[i].Passages = kept
	}
	return changed
}

// minPassageTokens is the shortest piece of a passage that is worth keeping.
const minPassageTokens = 16

// tokens estimates how many tokens a text is for a model: one for about four
// letters, one for each character of scripts that are not alphabets. It errs on
// the high side.
func tokens(text string) int {
	quarters := 0
	for _, r := range text {
		quarters += weight(r)
	}
	return (quarters + 3) / 4
}

// weight is a character's share of a token, in quarters.
func weight(r rune) int {
	if r < utf8.RuneSelf || unicode.Is(unicode.Latin, r) {
		return 1
	}
	return 4
}

func firstTokens(text string, n int) string {
	left := 4 * n
	for i, r := range text {
		if left -= weight(r); left < 0 {
			return strings.TrimSpace(text[:i])
		}
	}
	return text
}
