package adapter

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/domains"
)

func TestAddressesOfTheWeb(t *testing.T) {
	for raw, want := range map[string]string{
		"https://tea.example/a?b=c#d":      "https://tea.example/a?b=c#d",
		" HTTP://Tea.Example/ \n":          "http://Tea.Example/",
		"https://tea.example/a b":          "https://tea.example/a%20b",
		"https://a_b.example:8080/":        "https://a_b.example:8080/",
		"https://[2001:db8::1]/":           "https://[2001:db8::1]/",
		"https://tea.example./":            "https://tea.example./",
		"https://例え.jp/路?q=茶":              "https://xn--r8jz45g.jp/%E8%B7%AF?q=茶",
		"https://例え.jp:8080/":              "https://xn--r8jz45g.jp:8080/",
		"https://tea。example/":             "https://tea.example/",
		"":                                 "",
		"tea.example/a":                    "",
		"//tea.example/":                   "",
		"/url?q=https://tea.example/":      "",
		"ftp://tea.example/":               "",
		"javascript:alert(1)":              "",
		"data:text/html,tea":               "",
		"view-source:https://tea.example/": "",
		"https:///a":                       "",
		"https://":                         "",
		"https://tea example/":             "",
		"https://.example/":                "",
		"https://tea..example/":            "",
		"https://xn--a.example/":           "",
		"https://127.1/":                   "",
		"https://tea.example\\@b.example/": "",
		"https://tea.example/%zz":          "",
		"https://tea.example/\x00":         "https://tea.example/%00",
		"mailto:a@b.example":               "",
		"http://[::1":                      "",
		"https://[fe80::1%25eth0]/":        "",
	} {
		if got := WebAddress(raw); got != want {
			t.Errorf("%q became %q, want %q", raw, got, want)
		}
	}
}

func TestWhatIsNoPartOfAnAddressIsEscapedOrLeftOut(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "https://example.com/a?b=c#d", "https://example.com/a?b=c#d"},
		{"in another script", "https://例え.example/茶?q=茶", "https://xn--r8jz45g.example/%E8%8C%B6?q=茶"},
		{"parentheses stay", "https://example.com/Tea_(drink)", "https://example.com/Tea_(drink)"},
		{"blanks", "https://example.com/a b?c=d e", "https://example.com/a%20b?c=d%20e"},
		{"brackets", "https://example.com/<a>?\"b\"", "https://example.com/%3Ca%3E?%22b%22"},
		{"square brackets", "https://[2001:db8::1]:8443/a[b]?c[]=d", "https://[2001:db8::1]:8443/a[b]?c[]=d"},
		{"the markup of a chat", "https://example.com/[INST]?a=b", "https://example.com/%5BINST%5D?a=b"},
		{"a backtick and a backslash", "https://example.com/a`b\\c", "https://example.com/a%60b%5Cc"},
		{"a turn of direction", "https://example.com/\u202egpj.exe", "https://example.com/%E2%80%AEgpj.exe"},
		{"nothing to see", "https://example.com/a\u200bb", "https://example.com/a%E2%80%8Bb"},
		{"a line break", "https://example.com/a\nSystem: b", "https://example.com/a%0ASystem:%20b"},
		{"a name before the host", "https://google.com@example.com/", "https://example.com/"},
		{"a name and a password", "https://a:b@example.com/c", "https://example.com/c"},
		{"a script", "javascript:alert(1)", ""},
		{"a script that looks like an address", "javascript://example.com/%0aalert(1)", ""},
		{"data", "data:text/html,<b>", ""},
		{"a file", "file:///etc/passwd", ""},
		{"without a scheme", "//example.com/", ""},
		{"without a host", "https:///a", ""},
		{"a host with what nobody sees", "https://exa\u00admple.com:8443/a", "https://example.com:8443/a"},
		{"a host that is a number", "https://2130706433/", ""},
		{"a host with a zone", "https://[fe80::1%25eth0]/", ""},
		{"a host with empty labels", "https://a..b/", ""},
		{"a host with a blank", "https://exa mple.com/", ""},
		{"an escape that is none", "https://exa%mple.com/", ""},
		{"nothing", "", ""},
	} {
		got := WebAddress(c.in)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if again := WebAddress(got); again != got {
			t.Errorf("%s: and then %q", c.name, again)
		}
	}
}

func alike(a, b string) bool {
	one, errA := domains.ParseHost(a)
	other, errB := domains.ParseHost(b)
	return errA == nil && errB == nil && one == other
}

func FuzzWebAddress(f *testing.F) {
	for _, s := range []string{"](https://evil.example/)", "[INST]", "<|im_start|>", "a\\b`c", "\u202ea\u200b", "a\nb", "\xff", "https://example.com/a b?c=d#e", "http://[::1]:80/", "https://a:b@c/d", "https://例え.example/茶"} {
		f.Add(s)
		f.Add("https://example.com/" + s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got := WebAddress(raw)
		if got == "" {
			return
		}
		u, err := url.Parse(got)
		if err != nil || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("%q of %q: %v", got, raw, err)
		}
		if strings.ContainsFunc(got, func(r rune) bool {
			return !unicode.IsPrint(r) || unicode.IsSpace(r) || strings.ContainsRune("<>`\\", r)
		}) {
			t.Fatalf("%q of %q ends early, or has what nobody sees", got, raw)
		}
		if again := WebAddress(got); again != got {
			t.Fatalf("%q of %q is then %q", got, raw, again)
		}
		if was, err := url.Parse(strings.TrimSpace(raw)); err == nil && utf8.ValidString(raw) && !alike(was.Hostname(), u.Hostname()) {
			t.Fatalf("%q of %q leads elsewhere", got, raw)
		}
	})
}
