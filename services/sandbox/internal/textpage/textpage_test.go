package textpage

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPagesOfATextAreTheText(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"plain", "hello, world", "hello, world"},
		{"characters of one to four bytes", "aé国😀", "aé国😀"},
		{"lines", "a\r\nb\n\n", "a\r\nb\n\n"},
		{"bytes that are no UTF-8", "a\xffb\xc3", "a\uFFFDb\uFFFD"},
		{"the character zero", "a\x00b", "a\uFFFDb"},
		{"half a surrogate", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		{"nothing", "", ""},
	} {
		for _, chars := range []int{1, 2, 3, 100} {
			var got strings.Builder
			offset := int64(0)
			for {
				page, err := Read(strings.NewReader(tc.text), offset, chars)
				if err != nil {
					t.Fatal(err)
				}
				if n := utf8.RuneCountInString(page.Text); n > chars {
					t.Fatalf("%s: %d characters, at most %d were asked for", tc.name, n, chars)
				}
				got.WriteString(page.Text)
				if page.Next == offset {
					break
				}
				offset = page.Next
			}
			if got.String() != tc.want || offset != int64(len(tc.text)) {
				t.Errorf("%s by %d: %q to byte %d, want %q to %d", tc.name, chars, got.String(), offset, tc.want, len(tc.text))
			}
		}
	}
}

func TestAnOffsetInsideACharacter(t *testing.T) {
	page, err := Read(strings.NewReader("国x"), 1, 10)
	if err != nil || page.Text != "\uFFFD\uFFFDx" || page.Next != 4 {
		t.Errorf("%+v %v", page, err)
	}
	if page, err = Read(strings.NewReader("ab"), 5, 10); err != nil || page.Text != "" || page.Next != 5 {
		t.Errorf("beyond the end: %+v %v", page, err)
	}
}
