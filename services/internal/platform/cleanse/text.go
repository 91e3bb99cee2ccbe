package cleanse

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Report counts what Text did.
type Report struct {
	// Invisible is how many characters without a shape were left out: those of
	// no width, of the direction of text, tags, and controls.
	Invisible int
	// Markers is how many imitations of chat markup were made harmless.
	Markers int
}

// Add is the sum of two reports.
func (r Report) Add(o Report) Report {
	return Report{Invisible: r.Invisible + o.Invisible, Markers: r.Markers + o.Markers}
}

// Warnings tell a reader what was done, each beginning with a word for programs.
func (r Report) Warnings() []string {
	var out []string
	if r.Invisible > 0 {
		out = append(out, fmt.Sprintf("invisible: %d characters that have no shape were left out", r.Invisible))
	}
	if r.Markers > 0 {
		out = append(out, fmt.Sprintf("neutralised: %d places that imitate the markup of a chat or a call of a tool have a · in them now", r.Markers))
	}
	return out
}

// Text gives s without invisible characters and without anything that a model
// could take for the markup of a chat or a call of a tool. Cleaning twice is
// cleaning once; the result is valid UTF-8 and at most four times as long.
// Nothing is allocated when there is nothing to do.
//
// Joiners and direction marks stay where a script or an emoji needs them, so
// that Persian, Hindi, Hebrew and families of emoji read as before.
func Text(s string) (string, Report) {
	var r Report
	s, r.Invisible = seen(s)
	s, r.Markers = unmarked(s)
	return s, r
}

// seen leaves out the characters that nobody sees.
func seen(s string) (string, int) {
	at := suspect(s)
	if at == len(s) {
		return s, 0
	}
	var b strings.Builder
	left := 0
	var c context
	kept := 0 // where the text begins that is not in b yet
	from := strings.LastIndexByte(s[:at], '\n') + 1
	for i := from; i < len(s); {
		if s[i] < utf8.RuneSelf && !isControl(s[i]) {
			c.pass(rune(s[i]))
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(s[kept:i])
			b.WriteString("\ufffd")
			kept = i + 1
			c.pass(r)
		case c.keeps(r, s[i+n:]):
			c.pass(r)
		default:
			b.WriteString(s[kept:i])
			kept = i + n
			left++
		}
		i += n
	}
	if kept == 0 {
		return s, 0
	}
	b.WriteString(s[kept:])
	return b.String(), left
}

// suspect finds the first byte that may begin an invisible character or is no
// UTF-8.
func suspect(s string) int {
	if !utf8.ValidString(s) {
		return 0
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !begins[c] {
			continue
		}
		if c < utf8.RuneSelf {
			return i
		}
		if r, _ := utf8.DecodeRuneInString(s[i:]); isInvisible(r) {
			return i
		}
	}
	return len(s)
}

// begins are the bytes that controls and invisible characters begin with.
var begins = func() (t [256]bool) {
	for c := range byte(utf8.RuneSelf) {
		t[c] = isControl(c)
	}
	for _, c := range []byte("\xc2\xcd\xd8\xe1\xe2\xe3\xef\xf0\xf3") {
		t[c] = true
	}
	return t
}()

// isControl tells the control characters that are no white space.
func isControl(c byte) bool {
	return c < ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f' && c != '\v' || c == 0x7f
}
