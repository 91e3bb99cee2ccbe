package markdown

import (
	"strings"
	"unicode/utf8"
)

// text writes the text of a text node: white space is folded as a browser
// folds it, and what would be structure is escaped.
func (w *writer) text(s string) {
	for i := 0; i < len(s); {
		if n := blank(s, i); n > 0 {
			w.space = true
			i += n
			continue
		}
		if n := invisible(s, i); n > 0 {
			i += n
			continue
		}
		end := wordEnd(s, i)
		word := s[i:end]
		if tex, display, n := bareMath(s[i:], w.mode); n > 0 {
			w.math(tex, display)
			i += n
			continue
		}
		r, _ := utf8.DecodeRuneInString(word)
		w.begin(r)
		if w.mode == plain {
			w.out = append(w.out, word...)
		} else {
			w.word(word, end < len(s) && blank(s, end) > 0)
		}
		i = end
	}
}

// wordEnd is where the word that begins at i ends: before white space or an
// invisible character.
func wordEnd(s string, i int) int {
	for i < len(s) {
		c := s[i]
		switch {
		case c <= ' ':
			return i
		case c < utf8.RuneSelf:
			i++
		case (c == 0xc2 || c == 0xe2 || c == 0xe3 || c == 0xef || c == 0xe1) && (blank(s, i) > 0 || invisible(s, i) > 0):
			return i
		default:
			i++
		}
	}
	return i
}

// blank is the length of the white space character at i, 0 where there is
// none. A no-break space is one: a model reads both alike.
func blank(s string, i int) int {
	switch c := s[i]; {
	case c <= ' ':
		return 1
	case c == 0xc2 && strings.HasPrefix(s[i:], "\u00a0"):
		return 2
	case c == 0xe2 && len(s) > i+2 && s[i+1] == 0x80 && (s[i+2] >= 0x80 && s[i+2] <= 0x8a || s[i+2] == 0xa8 || s[i+2] == 0xa9 || s[i+2] == 0xaf),
		c == 0xe2 && strings.HasPrefix(s[i:], "\u205f"), c == 0xe1 && strings.HasPrefix(s[i:], "\u1680"), c == 0xe3 && strings.HasPrefix(s[i:], "\u3000"):
		return 3
	}
	return 0
}

// invisible is the length of the character at i that only says where a line
// may break, 0 where there is none.
func invisible(s string, i int) int {
	switch s[i] {
	case 0xc2:
		if strings.HasPrefix(s[i:], "\u00ad") {
			return 2
		}
	case 0xe2:
		if strings.HasPrefix(s[i:], "\u200b") || strings.HasPrefix(s[i:], "\u2060") {
			return 3
		}
	case 0xef:
		if strings.HasPrefix(s[i:], "\ufeff") {
			return 3
		}
	}
	return 0
}

// marks are the ASCII characters that can be Markdown anywhere in a line, and
// leads those that can be so at its beginning.
var marks, leads = table("\\`*_[]<&;~|(:#.)"), table("#>-+=*_|:")

func table(chars string) (t [utf8.RuneSelf]bool) {
	for i := range len(chars) {
		t[chars[i]] = true
	}
	return t
}

// word writes one word, escaped. more says whether white space follows it in the
// same text; where not, the character after it is not known.
func (w *writer) word(s string, more bool) {
	start := 0
	if c := s[0]; c < utf8.RuneSelf && leads[c] && w.mode == blocks && w.lineText() == len(w.out) && w.leading(s, more) {
		w.out = append(w.out, '\\', c)
		start = 1
	}
	plainFrom := start
	for i := start; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf || !marks[c] {
			continue
		}
		w.out = append(w.out, s[plainFrom:i]...)
		plainFrom = i
		if w.escapes(s, i, more) {
			w.out = append(w.out, '\\')
		}
	}
	w.out = append(w.out, s[plainFrom:]...)
}

// leading says whether a word at the beginning of a line would begin a block.
func (w *writer) leading(s string, more bool) bool {
	run := 1
	for run < len(s) && s[run] == s[0] {
		run++
	}
	ends := run == len(s)
	switch s[0] {
	case '#':
		return ends && run <= 6
	case '>', '=', '|':
		return true
	case '-':
		return ends || run > 1 || s[1] == '|' || s[1] == ':'
	case '+', '*':
		return ends && run == 1
	case '_':
		return ends
	case ':':
		return run < len(s) && s[run] == '-' || !more && ends
	}
	return false
}

// escapes says whether the mark at i of a word has to be escaped.
func (w *writer) escapes(s string, i int, more bool) bool {
	c := s[i]
	last := i == len(s)-1
	switch c {
	case '\\':
		return last || isASCIIPunct(s[i+1])
	case '`':
		return true
	case '*':
		return !last || !more || !w.afterSpace() || w.emphasized(len(w.spans))
	case '_':
		return w.escapesUnderscore(s, i)
	case '~':
		return !w.afterSpace() || w.within(strike.open)
	case '|':
		return w.mode == cell
	case '<':
		return last && !more || !last && (isLetter(s[i+1]) || s[i+1] == '/' || s[i+1] == '!' || s[i+1] == '?')
	case '&':
		return isEntity(s[i+1:])
	case ';':
		return w.endsEntity()
	case '[': // at the beginning of a line it may be a check box or name a link
		return w.inLink || !last && s[i+1] == '^' || last && !more || w.endsBracket() || w.lineText() == len(w.out)
	case ']':
		return w.inLink
	case '(', ':':
		return w.endsBracket()
	case '.', ')':
		return last && w.numbers()
	case '#':
		return w.mode == heading && (w.afterSpace() || w.endsHash())
	}
	return false
}

// escapesUnderscore says whether an underscore could close an emphasis: it ends
// something and no letter follows it.
func (w *writer) escapesUnderscore(s string, i int) bool {
	if w.afterSpace() {
		return false
	}
	for i < len(s) && s[i] == '_' {
		i++
	}
	if i == len(s) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return isPunct(r)
}

// afterSpace says whether nothing of the same word stands before.
func (w *writer) afterSpace() bool { return isSpace(w.last()) }

// endsBracket says whether the text ends with a bracket that what follows
// would make a link or the name of one.
func (w *writer) endsBracket() bool {
	i := len(w.out)
	for i > w.line && (w.out[i-1] == '*' || w.out[i-1] == '~') {
		i-- // the mark may yet go
	}
	return i > w.line && w.out[i-1] == ']'
}

// guardBang escapes an exclamation mark at the end of the text, which would make
// an image of a link or a mark that follows.
func (w *writer) guardBang() {
	if n := len(w.out); n > 0 && w.last() == '!' {
		w.out = append(w.out[:n-1], '\\', '!')
	}
}

func (w *writer) endsHash() bool { return w.last() == '#' }

// lineText is where the text of the line begins, behind marks that may yet go.
func (w *writer) lineText() int {
	i := w.line
	for i < len(w.out) && (w.out[i] == '*' || w.out[i] == '~') {
		i++
	}
	return i
}

// numbers says whether the line has nothing but a number so far.
func (w *writer) numbers() bool {
	if w.mode != blocks || len(w.out) == w.line {
		return false
	}
	digits := 0
	for _, c := range w.out[w.line:] {
		switch {
		case c >= '0' && c <= '9' && digits < 9:
			digits++
		case c != '*' && c != '~': // marks may yet go
			return false
		}
	}
	return digits > 0
}

// isEntity says whether what follows an ampersand makes a character reference
// of it.
func isEntity(s string) bool {
	i := 0
	for i < len(s) && isEntityByte(s[i]) {
		i++
	}
	return i > 0 && i < len(s) && s[i] == ';'
}

// maxEntity is the longest name of a character reference, in bytes.
const maxEntity = 40

// endsEntity says whether the text ends with what a semicolon would make a
// character reference of.
func (w *writer) endsEntity() bool {
	for i := len(w.out) - 1; i >= max(w.line, len(w.out)-maxEntity); i-- {
		switch c := w.out[i]; {
		case c == '&':
			escapes := 0
			for i-escapes > 0 && w.out[i-escapes-1] == '\\' {
				escapes++
			}
			return i < len(w.out)-1 && escapes%2 == 0
		case !isEntityByte(c) && c != '*' && c != '~': // marks may yet go
			return false
		}
	}
	return false
}

func isEntityByte(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '#' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isASCIIPunct(c byte) bool { return c < utf8.RuneSelf && isPunct(rune(c)) }
