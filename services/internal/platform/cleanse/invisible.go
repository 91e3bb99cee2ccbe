package cleanse

import (
	"unicode"
	"unicode/utf8"
)

const (
	zwnj      = '\u200c'
	zwj       = '\u200d'
	blackFlag = '\U0001f3f4'
	tagCancel = '\U000e007f'
	keycap    = '\u20e3'
	lrm, rlm  = '\u200e', '\u200f'
	alm       = '\u061c'
)

// isInvisible tells the characters beyond ASCII that have no shape of their own.
func isInvisible(r rune) bool {
	switch {
	case r < 0xa0:
		return r >= 0x80 && r != 0x85 // which is a line break
	case r < 0x2000:
		return r == 0xad || r == 0x34f || r == alm || r == 0x115f || r == 0x1160 || r == 0x17b4 || r == 0x17b5 || r >= 0x180b && r <= 0x180f
	case r < 0x2070:
		return r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060
	case r < 0xfe00:
		return r == 0x3164
	case r < 0x10000:
		return r <= 0xfe0f || r == 0xfeff || r == 0xffa0 || r >= 0xfff0 && r <= 0xfffb
	}
	return r >= 0x1d173 && r <= 0x1d17a || r >= 0xe0000 && r <= 0xe0fff || r >= 0x1bca0 && r <= 0x1bca3
}

// context is what stands before a character.
type context struct {
	prev rune // the last character that was kept
	rtl  bool // the line has a letter that is written from the right
	// flag counts the tags that were kept behind a black flag.
	flag int
}

// pass takes in a character that is kept.
func (c *context) pass(r rune) {
	switch {
	case r == '\n':
		c.rtl = false
	case IsRightToLeft(r):
		c.rtl = true
	}
	c.prev = r
}

// keeps says whether a character stays, before the text that follows it.
func (c *context) keeps(r rune, rest string) bool {
	if !isInvisible(r) && (r >= utf8.RuneSelf) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == zwj:
		return joins(c.prev) && !isInvisible(next) || isEmoji(c.prev) && isEmoji(next) || isSelector(c.prev) && isEmoji(next)
	case r == zwnj:
		return joins(c.prev) && !isInvisible(next)
	case IsDirectionMark(r):
		return (c.rtl || IsRightToLeft(next)) && !IsDirectionMark(c.prev)
	case r == 0xfe0e || r == 0xfe0f:
		return isEmoji(c.prev) || (c.prev == '#' || c.prev == '*' || c.prev >= '0' && c.prev <= '9') && next == keycap
	case r >= 0xfe00 && r <= 0xfe0d, r >= 0xe0100 && r <= 0xe01ef:
		return unicode.Is(unicode.Han, c.prev) || r <= 0xfe02 && unicode.Is(unicode.Sm, c.prev)
	case r >= 0xe0000 && r <= 0xe007f:
		return c.keepsTag(r, rest)
	case r >= 0x180b && r <= 0x180f:
		return unicode.Is(unicode.Mongolian, c.prev) && !isInvisible(c.prev)
	case r == 0x34f:
		return unicode.Is(unicode.Hebrew, c.prev)
	}
	return false
}

// keepsTag keeps the tags of a flag such as that of Wales: a black flag, two to
// six letters or digits, and the end of tags.
func (c *context) keepsTag(r rune, rest string) bool {
	if c.prev == blackFlag {
		c.flag = flagTags(r, rest)
	}
	if c.flag == 0 {
		c.prev = 0 // what follows is behind no flag
		return false
	}
	c.flag--
	return true
}

const maxFlagTags = 6

// flagTags counts the tags of a flag that begin with r, with their end; 0 when
// they are none.
func flagTags(r rune, rest string) int {
	for n := 1; n <= maxFlagTags+1; n++ {
		switch {
		case r == tagCancel && n > 2:
			return n
		case r >= 0xe0061 && r <= 0xe007a || r >= 0xe0030 && r <= 0xe0039:
		default:
			return 0
		}
		next, size := utf8.DecodeRuneInString(rest)
		r, rest = next, rest[size:]
	}
	return 0
}

// IsDirectionMark tells the characters that only say in which direction their
// neighbours are read. Embeddings, overrides and isolates are none of them: one
// that is not closed turns what stands behind it.
func IsDirectionMark(r rune) bool { return r == lrm || r == rlm || r == alm }

func isSelector(r rune) bool { return r == 0xfe0e || r == 0xfe0f }

// IsRightToLeft tells the letters of Hebrew, Arabic and their kin.
func IsRightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff && r != alm || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r < 0xfeff || r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}

// joins tells the letters and signs of scripts in which a joiner, or its
// opposite, changes the shape of what stands beside it.
func joins(r rune) bool {
	return r >= 0x600 && r <= 0x8ff && r != alm || r >= 0x900 && r <= 0xdff || r >= 0x1780 && r <= 0x17d3 && r != 0x17b4 && r != 0x17b5 ||
		r >= 0x1820 && r <= 0x18aa || r >= 0x1000 && r <= 0x109f || r >= 0x1b00 && r <= 0x1bff || r >= 0xa840 && r <= 0xa87f ||
		r >= 0xa8e0 && r <= 0xa8ff || r >= 0xfb50 && r <= 0xfdff || r >= 0xfe70 && r < 0xfeff || r >= 0x11000 && r <= 0x11fff
}

// isEmoji tells pictures and the signs that may be shown as one.
func isEmoji(r rune) bool {
	switch {
	case r < 0xa9:
		return false
	case r == 0xa9 || r == 0xae || r == 0x203c || r == 0x2049 || r == 0x2122 || r == 0x2139:
		return true
	case r >= 0x2190 && r <= 0x21ff, r >= 0x2300 && r <= 0x23ff, r >= 0x2460 && r <= 0x24ff, r >= 0x25a0 && r <= 0x27bf,
		r >= 0x2900 && r <= 0x297f, r >= 0x2b00 && r <= 0x2bff, r == 0x3030 || r == 0x303d || r == 0x3297 || r == 0x3299:
		return true
	}
	return r >= 0x1f000 && r <= 0x1faff || r == tagCancel
}
