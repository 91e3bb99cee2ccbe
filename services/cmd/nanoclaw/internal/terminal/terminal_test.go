package terminal

import (
	"bytes"
	"testing"
)

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"words stay", "Grüße,\n\tworld", "Grüße,\n\tworld"},
		{"an escape sequence loses its escape", "\x1b[2Jhidden\x1b]0;title\x07", "[2Jhidden]0;title"},
		{"a carriage return cannot overwrite", "safe\rdone", "safedone"},
		{"eight-bit controls", "a\u009b31mb", "a31mb"},
		{"marks of direction", "a\u202eb\u2066c", "abc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Clean(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			var out bytes.Buffer
			if n, err := (CleanWriter{&out}).Write([]byte(tt.in)); err != nil || n != len(tt.in) || out.String() != tt.want {
				t.Errorf("written %q (%d, %v), want %q", out.String(), n, err, tt.want)
			}
		})
	}
}

func TestLine(t *testing.T) {
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"short enough", "  two \n words ", 9, "two words"},
		{"cut with a mark in the limit", "two words", 8, "two wor…"},
		{"no space before the mark", "two words", 5, "two…"},
		{"characters, not bytes", "äöüß", 4, "äöüß"},
		{"cut between characters", "äöüß", 3, "äö…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Line(tt.in, tt.limit); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStyle(t *testing.T) {
	if got := Style(true).Bad("no"); got != "\x1b[31mno\x1b[0m" {
		t.Errorf("got %q", got)
	}
	if got := Style(false).Bad("no"); got != "no" {
		t.Errorf("got %q", got)
	}
	if StyleFor(&bytes.Buffer{}, nil) {
		t.Error("colours into a pipe")
	}
}
