// Package terminal writes for people: colours only where they are wanted, and
// foreign text without the control characters that would command the terminal.
package terminal

import (
	"io"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Is says whether w is a terminal.
func Is(w any) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// Style colours text, or leaves it alone.
type Style bool

// StyleFor is the style for a stream: colours on a terminal, unless NO_COLOR
// (no-color.org) is set or the terminal is dumb.
func StyleFor(w io.Writer, env []string) Style {
	plain := slices.ContainsFunc(env, func(entry string) bool {
		return strings.HasPrefix(entry, "NO_COLOR=") && entry != "NO_COLOR=" || entry == "TERM=dumb"
	})
	return Style(!plain && Is(w))
}

// Dim is for what is said beside the matter.
func (s Style) Dim(text string) string { return s.sgr("2", text) }

// Bold is for what the eye should find.
func (s Style) Bold(text string) string { return s.sgr("1", text) }

// Good is green.
func (s Style) Good(text string) string { return s.sgr("32", text) }

// Bad is red.
func (s Style) Bad(text string) string { return s.sgr("31", text) }

func (s Style) sgr(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Clean removes control characters but line ends and tabs, and the marks that
// change the direction of text: words of a page or a model must not move the
// cursor, set the title or hide what follows.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// Line is text on one line of at most limit characters, a cut marked.
func Line(text string, limit int) string {
	text = Clean(strings.Join(strings.Fields(text), " "))
	runes := 0
	for i := range text {
		if runes++; runes > limit {
			return strings.TrimRight(cutLast(text[:i]), " ") + "…"
		}
	}
	return text
}

// cutLast drops the last character, to make room for the mark.
func cutLast(text string) string {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] < 0x80 || text[i] >= 0xC0 {
			return text[:i]
		}
	}
	return ""
}

// CleanWriter passes text on through Clean. Pieces must not cut characters.
type CleanWriter struct{ W io.Writer }

// Write cleans p.
func (c CleanWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.W, Clean(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
