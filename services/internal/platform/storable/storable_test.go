package storable

import (
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"plain text", "纳米 \u00e9 \U0001F600\n\t", "纳米 \u00e9 \U0001F600\n\t"},
		{"U+0000 in the middle", "a\x00b", "a\uFFFDb"},
		{"U+0000 alone, twice", "\x00\x00", "\uFFFD\uFFFD"},
		{"bytes that are no character", "a\xff\xfeb", "a\uFFFDb"},
		{"a character cut in two", "\xe7\xba", "\uFFFD"},
		{"half of a surrogate pair, as bytes", "\xed\xa0\xbd", "\uFFFD"},
		{"both at once", "\xff\x00\xff", "\uFFFD\uFFFD\uFFFD"},
		{"the replacement itself", "\uFFFD", "\uFFFD"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Text(tc.in)
			if got != tc.want || Is(tc.in) != (tc.in == tc.want) {
				t.Errorf("Text = %q, want %q; Is = %v", got, tc.want, Is(tc.in))
			}
		})
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "a\x00", "\xff", "é\xc3", "\x00\xed\xa0\x80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !Is(got) || !utf8.ValidString(got) || Text(got) != got {
			t.Errorf("Text(%q) = %q", s, got)
		}
	})
}
