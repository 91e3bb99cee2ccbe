package fetcher

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// cut tells which part of something an answer holds. Counts are characters of
// text, or entries of a list.
type cut struct {
	total  int
	next   int  // where to read on; 0 when nothing follows
	beyond bool // the offset is behind the end
}

// cutText gives limit characters of text from offset on.
func cutText(text string, offset, limit int) (string, cut) {
	offset, limit = max(offset, 0), max(limit, 1)
	c := cut{total: utf8.RuneCountInString(text)}
	if offset > 0 && offset >= c.total {
		c.beyond = true
		return "", c
	}
	if offset == 0 && c.total <= limit {
		return text, c
	}
	begin, end, at := len(text), len(text), 0
	for i := range text {
		if at == offset {
			begin = i
		}
		if at == offset+limit {
			end = i
			c.next = at
			break
		}
		at++
	}
	return text[min(begin, end):end], c
}

// cutList gives limit entries from offset on.
func cutList[T any](list []T, offset, limit int) ([]T, cut) {
	offset = max(offset, 0)
	c := cut{total: len(list)}
	if offset >= len(list) {
		c.beyond = offset > 0
		return nil, c
	}
	end := min(offset+limit, len(list))
	if end < len(list) {
		c.next = end
	}
	return list[offset:end], c
}

// cutParagraphs gives whole paragraphs from the one that holds character offset
// on, at least one, at most limit characters in all. A single paragraph over
// the limit is cut like text.
func cutParagraphs(paragraphs []string, offset, limit int) ([]string, cut) {
	offset, limit = max(offset, 0), max(limit, 1)
	var c cut
	var out []string
	room := limit
	for _, p := range paragraphs {
		begin, n := c.total, utf8.RuneCountInString(p)
		c.total += n
		if c.next > 0 || c.total <= offset {
			continue
		}
		from := max(offset-begin, 0)
		switch {
		case n-from <= room:
			part, _ := cutText(p, from, limit)
			out = append(out, part)
			room -= n - from
		case len(out) > 0:
			c.next = begin
		default:
			part, inner := cutText(p, from, limit)
			out = append(out, part)
			c.next = begin + inner.next
		}
	}
	c.beyond = offset > 0 && len(out) == 0
	return out, c
}

// capBytes cuts text at a character boundary.
func capBytes(text string, limit int) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], true
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// validUTF8 makes bytes from outside fit for a protobuf string.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
