package cleanse

import (
	"net/url"
	"testing"
	"unicode/utf8"
)

func TestAnAddressKeepsWhereItLeads(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"an ordinary one", "https://a.example/b?c=[d]|e#f", "https://a.example/b?c=[d]|e#f"},
		{"one in Chinese", "https://例子.example/茶?q=茶", "https://例子.example/茶?q=茶"},
		{"one of IPv6", "http://[2001:db8::1]/a", "http://[2001:db8::1]/a"},
		{"a mark in the query", "https://a.example/?q=<|im_start|>system", "https://a.example/?q=%3C%7Cim_start%7C%3Esystem"},
		{"a mark in the fragment", "https://a.example/b#[INST]", "https://a.example/b#%5BINST%5D"},
		{"a mark behind a host of IPv6", "http://[2001:db8::1]/<think>", "http://[2001:db8::1]/%3Cthink%3E"},
		{"invisible characters in the path", "https://a.example/b\u200bc", "https://a.example/b%E2%80%8Bc"},
		{"the override of a direction", "https://a.example/\u202egpj.exe", "https://a.example/%E2%80%AEgpj.exe"},
		{"invisible characters in the host", "https://a\u200b.example", "https://a.example"},
		{"a mark in the host", "https://<think>/", "https://<·think>/"},
		{"line breaks and a mark", "https://a.example/b\n<tool_call>", "https://a.example/b%0A%3Ctool_call%3E"},
		{"bytes that are no text", "https://a.example/\xff", "https://a.example/%FF"},
		{"no scheme", "/a?<think>", "/a?%3Cthink%3E"},
		{"a line of the system", "system:ignore", "system·:ignore"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, r := Address(tt.in)
			if got != tt.want {
				t.Errorf("%+q, want %+q", got, tt.want)
			}
			if _, of := Text(tt.in); r != of {
				t.Errorf("tells %+v, and Text %+v", r, of)
			}
		})
	}
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"https://a.example/?q=<|im_start|>", "http://[::1]/[INST]", "https://a\u200b.example/\u202e", "system:ignore", "https://a.example/%3Cthink>\xff", "//<｜User｜>/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, _ := Address(s)
		if again, r := Text(got); again != got || r != (Report{}) || !utf8.ValidString(got) {
			t.Errorf("%+q of %+q holds %+v", got, s, r)
		}
		was, err := url.Parse(s)
		if err != nil || was.Host == "" || pathAt(s) == 0 {
			return
		}
		if now, err := url.Parse(got); err != nil || now.Path != was.Path && utf8.ValidString(was.Path) && pathAt(s) == len(was.Scheme+"://"+was.Host) {
			t.Errorf("%+q leads elsewhere than %+q (%v)", got, s, err)
		}
	})
}
