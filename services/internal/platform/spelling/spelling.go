// Package spelling guesses which word was meant by one that is none, for messages
// such as "did you mean max_workers?".
package spelling

import (
	"slices"
	"strings"
)

// Nearest is the candidate that a slip of the hand explains: the one that
// differs from word in the fewest letters, or goes on where word ends. It is
// empty when none comes near. Of equals the first in the alphabet is taken.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", max(2, len(word)/4)+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		d := Distance(word, c)
		if strings.HasPrefix(c, word) && len(word) >= 2 {
			d = min(d, 1)
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if bestDistance >= len(word) {
		return ""
	}
	return best
}

// Distance is the Levenshtein distance in bytes, where two swapped neighbours
// count as one slip (optimal string alignment).
func Distance(a, b string) int {
	last, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], last[j-1]+1)
			}
		}
		last, row, next = row, next, last
	}
	return row[len(b)]
}
