package output

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text is what a program wrote to one stream, as text: valid UTF-8 without
// control characters but line ends and tabs.
type Text struct {
	// Head is the beginning, and all of it where LeftOut is 0.
	Head string `json:"head"`
	// Tail is the end.
	Tail string `json:"tail,omitempty"`
	// LeftOut is how many bytes are missing between them.
	LeftOut int64 `json:"left_out,omitempty"`
}

// Truncated says that something was left out.
func (t Text) Truncated() bool { return t.LeftOut > 0 }

// String is the text, with a line in the place of what was left out.
func (t Text) String() string {
	if t.LeftOut == 0 {
		return t.Head
	}
	return t.Head + t.gap() + t.Tail
}

func (t Text) gap() string { return fmt.Sprintf("\n[... %d bytes left out ...]\n", t.LeftOut) }

// gapChars is the room that the line in the place of what was left out takes at
// most, in a JSON string.
const gapChars = 52

// JSONChars is how many characters the text takes in a JSON string.
func (t Text) JSONChars() int {
	n := jsonChars(t.Head) + jsonChars(t.Tail)
	if t.LeftOut > 0 {
		n += gapChars
	}
	return n
}

// Shorten leaves out as much of the middle as is needed for the text to take no
// more than limit characters in a JSON string, or nearly nothing where limit is
// small.
func (t Text) Shorten(limit int) Text {
	if t.JSONChars() <= limit {
		return t
	}
	if t.LeftOut == 0 { // there is no middle yet
		t.Tail = t.Head
	}
	room := max(limit-gapChars, 0)
	head := prefix(t.Head, room-room/2)
	tail := suffix(t.Tail, room-jsonChars(head))
	if t.LeftOut == 0 {
		t.LeftOut = int64(len(t.Head) - len(head) - len(tail))
	} else {
		t.LeftOut += int64(len(t.Head) - len(head) + len(t.Tail) - len(tail))
	}
	t.Head, t.Tail = head, tail
	return t
}

// jsonChars is how many characters s takes in a JSON string.
func jsonChars(s string) int {
	n := 0
	for _, r := range s {
		n += runeChars(r)
	}
	return n
}

func runeChars(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\t':
		return 2
	case r < 0x20 || r == '\u2028' || r == '\u2029':
		return 6
	}
	return 1
}

// prefix is the longest beginning of s that takes at most room characters.
func prefix(s string, room int) string {
	for i, r := range s {
		if room -= runeChars(r); room < 0 {
			return s[:i]
		}
	}
	return s
}

// suffix is the longest end of s that takes at most room characters.
func suffix(s string, room int) string {
	i := len(s)
	for i > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:i])
		if room -= runeChars(r); room < 0 {
			break
		}
		i -= n
	}
	return s[i:]
}

// wholeRunes is p without the first part of a character at its end.
func wholeRunes(p []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if last := p[len(p)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return p[:len(p)-i]
			}
			return p
		}
	}
	return p
}

// fromRune is p without the last part of a character at its beginning.
func fromRune(p []byte) []byte {
	for i := 0; i < utf8.UTFMax-1 && i < len(p); i++ {
		if utf8.RuneStart(p[i]) {
			return p[i:]
		}
	}
	return p
}

// Clean makes text of what a program wrote. Bytes that are not UTF-8 become the
// replacement character. Escape sequences of terminals and control characters
// are left out, so that nothing moves a cursor, sets a title or fills a
// clipboard wherever the text is shown; line ends become "\n".
func Clean(p []byte) string {
	s := strings.ToValidUTF8(string(p), "\uFFFD")
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case !isControl(r):
			b.WriteString(s[i : i+n])
		case r == '\r':
			b.WriteByte('\n')
			if strings.HasPrefix(s[i+n:], "\n") {
				n++
			}
		case r == '\x1b' || r >= c1First:
			n = escape(s[i:], r, n)
		}
		i += n
	}
	return b.String()
}

const (
	c1First = 0x80
	c1Last  = 0x9f
)

func isControl(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= c1Last
}

// Bytes of the longest sequence that is taken for one. What comes after the
// beginning of a longer one is text.
const (
	maxControlSequence = 64
	maxControlString   = 4096
)

// escape is the length of the escape sequence at the beginning of s, whose first
// character r is n bytes long (ECMA-48): a control sequence, a control string,
// or a character set and the like. Also the 8-bit forms of both are known.
func escape(s string, r rune, n int) int {
	introducer := byte(r - c1First + '@') // ESC and this are the same
	if r == '\x1b' {
		if len(s) == n {
			return n
		}
		introducer = s[n]
		n++
	}
	switch {
	case introducer == '[':
		return controlSequence(s, n)
	case strings.IndexByte("]PX^_", introducer) >= 0:
		return controlString(s, n)
	case introducer >= 0x20 && introducer <= 0x2f: // intermediate bytes and a final one
		for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f && n < maxControlSequence {
			n++
		}
		if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
			n++
		}
		return n
	case introducer >= 0x30 && introducer <= 0x7e:
		return n
	}
	return n - 1 // no sequence: the escape character alone
}

// controlSequence ends with the first byte from @ to ~.
func controlSequence(s string, n int) int {
	for i := n; i < len(s) && i < maxControlSequence; i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return i
		}
	}
	return n
}

// controlString ends with BEL, ESC \ or the 8-bit string terminator.
func controlString(s string, n int) int {
	end := min(len(s), maxControlString)
	for i := n; i < end; i++ {
		switch {
		case s[i] == '\a':
			return i + 1
		case strings.HasPrefix(s[i:], "\x1b\\"), strings.HasPrefix(s[i:], "\u009c"):
			return i + 2
		}
	}
	return n
}
