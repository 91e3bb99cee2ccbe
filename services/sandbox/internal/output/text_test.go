package output_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"bytes"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/output"
)

func TestTextOfOutput(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "one\ttwo\nthree", "one\ttwo\nthree"},
		{"other scripts", "纳米爪 ñ 🦀", "纳米爪 ñ 🦀"},
		{"nothing", "", ""},
		{"bytes that are not UTF-8", "a\xff\xfeb", "a\uFFFDb"},
		{"half of a surrogate pair", "a\xed\xa0\x80b", "a\uFFFDb"},
		{"a character that is cut", "a\xe7\xba", "a\uFFFD"},
		{"NUL", "a\x00b", "ab"},
		{"bell and backspace", "a\a\bb\x7f", "ab"},
		{"line ends of Windows", "a\r\nb\r\n", "a\nb\n"},
		{"a bar that is drawn again", "10%\r20%\r", "10%\n20%\n"},
		{"colours", "\x1b[1;31mred\x1b[0m", "red"},
		{"cursor", "a\x1b[2J\x1b[Hb\x1b[?25l", "ab"},
		{"a title", "\x1b]0;owned\aa\x1b]2;owned\x1b\\b", "ab"},
		{"the clipboard", "\x1b]52;c;cm0gLXJm\ax", "x"},
		{"a link", "\x1b]8;;http://evil.example\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"device control", "\x1bPq#0\x1b\\x", "x"},
		{"a character set", "\x1b(Bx\x1b)0y", "xy"},
		{"keypad", "\x1b=x\x1b>y", "xy"},
		{"8-bit forms", "\u009b31mred\u009d0;t\u009cx\u0085", "redx"},
		{"an escape at the end", "a\x1b", "a"},
		{"an escape before a line end", "a\x1b\nb", "a\nb"},
		{"an escape before another script", "a\x1b纳", "a纳"},
		{"a sequence that is cut", "a\x1b[31", "a31"},
		{"a sequence with a line end in it", "a\x1b[31\nb", "a\nb"},
		{"a title that never ends", "a\x1b]0;" + strings.Repeat("x", 5000), "a0;" + strings.Repeat("x", 5000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := output.Clean([]byte(tc.in)); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestTextIsShortenedInTheMiddle(t *testing.T) {
	long := strings.Repeat("a", 500) + strings.Repeat("z", 500)
	for _, tc := range []struct {
		name  string
		in    output.Text
		limit int
		want  string
	}{
		{"what fits stays", output.Text{Head: "short"}, 5, "short"},
		{"both ends", output.Text{Head: long}, 152, strings.Repeat("a", 50) + "\n[... 900 bytes left out ...]\n" + strings.Repeat("z", 50)},
		{"the gap grows", output.Text{Head: long[:500], Tail: long[500:], LeftOut: 1000}, 152, strings.Repeat("a", 50) + "\n[... 1900 bytes left out ...]\n" + strings.Repeat("z", 50)},
		{"a short end leaves more of the beginning's end", output.Text{Head: "x", Tail: long[500:], LeftOut: 1}, 152, "x\n[... 402 bytes left out ...]\n" + strings.Repeat("z", 99)},
		{"no room at all", output.Text{Head: long}, 0, "\n[... 1000 bytes left out ...]\n"},
		{"what JSON escapes counts as it is written", output.Text{Head: strings.Repeat("\n", 100)}, 92, strings.Repeat("\n", 10) + "\n[... 80 bytes left out ...]\n" + strings.Repeat("\n", 10)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.in.Shorten(tc.limit)
			if got.String() != tc.want {
				t.Errorf("%q, want %q", got.String(), tc.want)
			}
			if tc.limit > 100 && written(t, got.String()) > tc.limit {
				t.Errorf("%d characters, at most %d", written(t, got.String()), tc.limit)
			}
		})
	}
}

// written is how many characters a text takes in JSON.
func written(t *testing.T, s string) int {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return utf8.RuneCount(bytes.TrimSpace(b.Bytes())) - len(`""`)
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"plain", "a\xff", "\x1b[31mred", "\x1b]52;c;x\a", "\u009b1m", "\x1b\x1b(\x1b", "a\u2028\"\\\n"} {
		f.Add([]byte(s), 60)
	}
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		text := output.Clean(in)
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
			return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f
		}) {
			t.Fatalf("%q became %q", in, text)
		}
		if again := output.Clean([]byte(text)); again != text {
			t.Fatalf("%q became %q", text, again)
		}
		short := output.Text{Head: text}.Shorten(limit)
		if n := short.JSONChars(); n > max(limit, 52) {
			t.Fatalf("%d characters, at most %d", n, limit)
		}
		if n := written(t, short.String()); n > short.JSONChars() {
			t.Fatalf("%d characters where %d were promised", n, short.JSONChars())
		}
		if short.LeftOut == 0 && short.Head != text || int(short.LeftOut)+len(short.Head)+len(short.Tail) != len(text) {
			t.Fatalf("%+v of %d bytes", short, len(text))
		}
	})
}
