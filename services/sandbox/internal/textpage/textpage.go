// Package textpage reads a file of text a page of characters at a time.
package textpage

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// Page is a part of a text.
type Page struct {
	// Text is UTF-8 without U+0000: each byte that is something else is a U+FFFD.
	Text string
	// Next is the byte after the page.
	Next int64
}

// Read reads at most maxChars characters from the byte offset on. An offset
// inside a character gives U+FFFD for the rest of it.
func Read(r io.ReaderAt, offset int64, maxChars int) (Page, error) {
	raw := make([]byte, maxChars*utf8.UTFMax)
	n, err := r.ReadAt(raw, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return Page{}, err
	}
	raw = raw[:n]
	var text strings.Builder
	text.Grow(min(n, maxChars))
	at := 0
	for range maxChars {
		if at == len(raw) {
			break
		}
		r, size := utf8.DecodeRune(raw[at:])
		if r == 0 {
			r = utf8.RuneError
		}
		text.WriteRune(r)
		at += size
	}
	return Page{Text: text.String(), Next: offset + int64(at)}, nil
}
