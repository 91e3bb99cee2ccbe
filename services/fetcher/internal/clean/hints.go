package clean

import "sync"

// Hint is a set of meanings that the words of a class or an id hint at.
type Hint uint64

// matcher finds many words in a string in one pass over its bytes
// (Aho-Corasick): a transition table over the letters that words are made of.
type matcher struct {
	next [][alphabet]int16
	hits []Hint
}

// alphabet is the number of byte classes: other, a-z, 0-9, '-', '_', and the
// white space that also stands for both ends of a string.
const alphabet = 40

const (
	symOther = iota
	symA
	symDigit = symA + 26
	symDash  = symDigit + 10
	symLow   = symDash + 1
	symSpace = symLow + 1
)

// symbols maps a byte to its class, letters without their case.
var symbols = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = uint8(symA+c-'a'), uint8(symA+c-'a')
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = uint8(symDigit + c - '0')
	}
	t['-'], t['_'] = symDash, symLow
	t[' '], t['\t'], t['\n'], t['\r'], t['\f'] = symSpace, symSpace, symSpace, symSpace, symSpace
	return t
}()

// newMatcher builds the table. A space in a word stands for white space or an
// end of the string.
func newMatcher(words map[string]Hint) *matcher {
	m := &matcher{next: make([][alphabet]int16, 1), hits: make([]Hint, 1)}
	for word, hint := range words {
		at := int16(0)
		for i := range len(word) {
			s := symbols[word[i]]
			if m.next[at][s] == 0 {
				m.next = append(m.next, [alphabet]int16{})
				m.hits = append(m.hits, 0)
				m.next[at][s] = int16(len(m.next) - 1)
			}
			at = m.next[at][s]
		}
		m.hits[at] |= hint
	}
	m.link()
	return m
}

// link adds the transitions of words that begin inside others, breadth first.
func (m *matcher) link() {
	fail := make([]int16, len(m.next))
	var queue []int16
	for _, to := range m.next[0] {
		if to != 0 {
			queue = append(queue, to)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		back := fail[at]
		m.hits[at] |= m.hits[back]
		for s, to := range m.next[at] {
			if to == 0 {
				m.next[at][s] = m.next[back][s]
				continue
			}
			fail[to] = m.next[back][s]
			queue = append(queue, to)
		}
	}
}

// find gives the hints of all words in s.
func (m *matcher) find(s string) Hint {
	var found Hint
	at := m.next[0][symSpace]
	for i := range len(s) {
		at = m.next[at][symbols[s[i]]]
		found |= m.hits[at]
	}
	return found | m.hits[m.next[at][symSpace]]
}

// hintsOf is the matcher of all words, built at first use.
var hintsOf = sync.OnceValue(func() *matcher {
	words := map[string]Hint{}
	for hint, list := range hintWords {
		for _, w := range list {
			words[w] |= hint
		}
	}
	return newMatcher(words)
})

// IsByline says whether a class or id names who wrote a page.
func IsByline(s string) bool { return hintsOf().find(s)&HintByline != 0 }
