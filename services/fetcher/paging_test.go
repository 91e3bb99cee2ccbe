package fetcher

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCutParagraphs(t *testing.T) {
	ps := []string{"aaaa", "bbbbbb", "cc"}
	tests := []struct {
		name          string
		offset, limit int
		want          []string
		next          int
		beyond        bool
	}{
		{"all fit", 0, 100, ps, 0, false},
		{"exactly", 0, 12, ps, 0, false},
		{"whole paragraphs only", 0, 11, ps[:2], 10, false},
		{"from a boundary", 4, 7, ps[1:2], 10, false},
		{"from inside one", 6, 100, []string{"bbbb", "cc"}, 0, false},
		{"one that is too long is cut", 4, 3, []string{"bbb"}, 7, false},
		{"and goes on", 7, 3, []string{"bbb"}, 10, false},
		{"behind the end", 12, 3, nil, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, c := cutParagraphs(ps, tt.offset, tt.limit)
			if !reflect.DeepEqual(got, tt.want) || c.next != tt.next || c.beyond != tt.beyond || c.total != 12 {
				t.Errorf("got %q %+v", got, c)
			}
		})
	}
}

func FuzzPagesJoinToTheWhole(f *testing.F) {
	f.Add("漢字 and more", 3)
	f.Add("", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		text = strings.ToValidUTF8(text, "?")
		if limit < 1 || len(text) > 1000 {
			return
		}
		var whole strings.Builder
		offset := 0
		for {
			part, c := cutText(text, offset, limit)
			if utf8.RuneCountInString(part) > limit || c.total != utf8.RuneCountInString(text) {
				t.Fatalf("part %q of %q: %+v", part, text, c)
			}
			whole.WriteString(part)
			if c.next == 0 {
				break
			}
			if c.next <= offset {
				t.Fatalf("next %d after %d", c.next, offset)
			}
			offset = c.next
		}
		if whole.String() != text {
			t.Errorf("%q became %q", text, whole.String())
		}
	})
}
