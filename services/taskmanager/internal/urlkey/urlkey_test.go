package urlkey

import (
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhichAddressesAreTheSamePage(t *testing.T) {
	const page = "http://example.com/a/b?x=1&y=2"
	for _, tc := range []struct {
		name, a, b string
		same       bool
	}{
		{"itself", page, page, true},
		{"a fragment", page, page + "#part", true},
		{"an empty fragment", page, page + "#", true},
		{"white space around", page, "  " + page + "\n", true},
		{"the scheme's own port", page, "http://example.com:80/a/b?x=1&y=2", true},
		{"the own port of https", "https://example.com/", "https://example.com:443/", true},
		{"the port of the other scheme", "https://example.com/", "https://example.com:80/", false},
		{"the case of the host", page, "http://EXAMPLE.Com/a/b?x=1&y=2", true},
		{"the case of the scheme", page, "HTTP://example.com/a/b?x=1&y=2", true},
		{"a dot after the host", page, "http://example.com./a/b?x=1&y=2", true},
		{"an empty path", "http://example.com", "http://example.com/", true},
		{"an empty path with a query", "http://example.com?q=1", "http://example.com/?q=1", true},
		{"the case of a percent-encoding", "http://example.com/a%2fb", "http://example.com/a%2Fb", true},
		{"the same in the query", "http://example.com/?q=%c3%a9", "http://example.com/?q=%C3%A9", true},
		{"a letter and its percent-encoding on the wire", "http://example.com/é", "http://example.com/%C3%A9", true},
		{"a name in letters and in punycode", "http://bücher.example/", "http://xn--bcher-kva.example/", true},
		{"an encoded slash and a slash", "http://example.com/a%2Fb", "http://example.com/a/b", false},
		{"the case of the path", "http://example.com/A", "http://example.com/a", false},
		{"the order of the query", page, "http://example.com/a/b?y=2&x=1", false},
		{"a slash at the end", "http://example.com/a", "http://example.com/a/", false},
		{"an empty query", "http://example.com/a", "http://example.com/a?", false},
		{"utm parameters", page, page + "&utm_source=x", false},
		{"index.html", "http://example.com/", "http://example.com/index.html", false},
		{"another scheme", page, strings.Replace(page, "http:", "https:", 1), false},
		{"another port", page, "http://example.com:8080/a/b?x=1&y=2", false},
		{"www", "http://example.com/", "http://www.example.com/", false},
		{"dots in the path", "http://example.com/a/../b", "http://example.com/b", false},
		{"two slashes", "http://example.com//a", "http://example.com/a", false},
		{"a plus and an encoded space", "http://example.com/?q=a+b", "http://example.com/?q=a%20b", false},
		{"an address of IPv6 in two spellings", "http://[2001:DB8::1]/", "http://[2001:db8:0::1]:80/", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := Parse(tc.a)
			if err != nil {
				t.Fatal(err)
			}
			b, err := Parse(tc.b)
			if err != nil {
				t.Fatal(err)
			}
			if (a.Key == b.Key) != tc.same {
				t.Errorf("%s and %s: same is %v", tc.a, tc.b, a.Key == b.Key)
			}
		})
	}
}

func TestWhatIsAskedForIsWhatWasWritten(t *testing.T) {
	for _, tc := range []struct{ in, url, origin string }{
		{" HTTPS://Example.COM?b=2&a=1&utm_source=x#top ", "HTTPS://Example.COM?b=2&a=1&utm_source=x", "https://example.com:443"},
		{"http://127.0.0.1:8080/a%2fb/", "http://127.0.0.1:8080/a%2fb/", "http://127.0.0.1:8080"},
		{"http://[::1]:8080", "http://[::1]:8080", "http://[::1]:8080"},
	} {
		got, err := Parse(tc.in)
		if err != nil || got.URL != tc.url || got.Origin != tc.origin || !strings.HasSuffix(got.Origin, "://"+got.Host) {
			t.Errorf("%q is %+v, %v", tc.in, got, err)
		}
	}
}

func TestWhatIsNoAddressSaysWhy(t *testing.T) {
	for in, words := range map[string]string{
		"": "no scheme", "example.com/a": "no scheme", "/a": "no scheme", "ftp://example.com/": "only http",
		"javascript:alert(1)": "only http", "mailto:a@b.c": "only http", "http://": "no host", "http:///a": "no host",
		"http://user:pw@example.com/": "password", "http://example.com:99999/": "port", "http://example.com:0/": "port",
		"http://exa mple.com/": "not an address", "http://a\x7f.b/": "not an address", "http://127.1/": "no host", "#": "no scheme",
	} {
		_, err := Parse(in)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", in, err, words)
		}
	}
	if Raw("a") == Raw("b") || Raw(" a ") != Raw("a") {
		t.Error("texts that are no address are told apart wrongly")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"http://example.com/", "https://EXAMPLE.com:443/%c3%a9?%2f#x", "http://[::1]:80", "//", "http://a/%", "http://a?%2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := Parse(raw)
		if err != nil {
			return
		}
		if again, err := Parse(a.URL); err != nil || again != a {
			t.Errorf("%q is %+v, and what is asked for is %+v, %v", raw, a, again, err)
		}
		if with, err := Parse(a.URL + "#fragment"); err != nil || with.Key != a.Key {
			t.Errorf("%q has another key with a fragment (%v)", raw, err)
		}
		u, err := url.Parse(a.Origin)
		if err != nil || u.Host != a.Host || len(a.Host) > 300-len("https://") {
			t.Errorf("%q has the origin %q and the host %q", raw, a.Origin, a.Host)
		}
	})
}
