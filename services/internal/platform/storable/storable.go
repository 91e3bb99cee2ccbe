// Package storable says which texts every part of the suite can keep and pass on
// as they are: UTF-8 without the character U+0000. Protobuf and JSON carry
// nothing but UTF-8, and U+0000 ends a text or is dropped in one database or
// another, so that a text with it would not come back as it was.
//
// A caller who sends another text is told so. What models, tools and pages say is
// mended where it comes in, before anybody reads it, so that what is streamed is
// what is stored.
package storable

import (
	"strings"
	"unicode/utf8"
)

// Is reports whether a text can be kept as it is.
func Is(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

// Text is s with U+FFFD in place of what cannot be kept: of each U+0000, and of
// each run of bytes that is not UTF-8. A text that can be kept costs nothing.
func Text(s string) string {
	if Is(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
