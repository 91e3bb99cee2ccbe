package canon

import "testing"

func TestAddressesOfOnePageShareAKey(t *testing.T) {
	cases := []struct {
		name string
		a, b string
		same bool
	}{
		{"scheme", "http://example.com/a", "https://example.com/a", true},
		{"www", "https://www.example.com/a", "https://example.com/a", true},
		{"mobile", "https://m.example.com/a", "https://example.com/a", true},
		{"a host that is only www and a suffix", "https://www.com/", "https://com/", false},
		{"case of the host", "https://EXAMPLE.com/a", "https://example.com/a", true},
		{"case of the path", "https://example.com/A", "https://example.com/a", false},
		{"default port", "https://example.com:443/a", "https://example.com/a", true},
		{"other port", "https://example.com:8443/a", "https://example.com/a", false},
		{"trailing dot", "https://example.com./a", "https://example.com/a", true},
		{"trailing slash", "https://example.com/a/", "https://example.com/a", true},
		{"root", "https://example.com", "https://example.com/", true},
		{"dot segments and double slashes", "https://example.com/b/../a//c", "https://example.com/a/c", true},
		{"order of parameters", "https://example.com/?b=2&a=1", "https://example.com/?a=1&b=2", true},
		{"value of a parameter", "https://example.com/?a=1", "https://example.com/?a=2", false},
		{"tracking", "https://example.com/?utm_source=x&a=1&fbclid=y&UTM_medium=z", "https://example.com/?a=1", true},
		{"ref is content", "https://example.com/?ref=main", "https://example.com/", false},
		{"fragment", "https://example.com/a#part", "https://example.com/a", true},
		{"fragment that is a path", "https://example.com/#!/a", "https://example.com/#!/b", false},
		{"international name", "https://bücher.example/", "https://xn--bcher-kva.example/", true},
		{"escapes in small letters", "https://example.com/%e8%8c%b6?q=%e8%8c%b6", "https://example.com/%E8%8C%B6?q=%E8%8C%B6", true},
		{"characters with and without escapes", "https://example.com/茶?q=茶", "https://example.com/%E8%8C%B6?q=%E8%8C%B6", true},
		{"escapes that nobody needs", "https://example.com/%61%2Db?%63=d", "https://example.com/a-b?c=d", true},
		{"dot segments in escapes", "https://example.com/a/%2e%2e/b", "https://example.com/b", true},
		{"a slash in an escape is none", "https://example.com/a%2Fb", "https://example.com/a/b", false},
		{"an ampersand in an escape is none", "https://example.com/?a=1%26b=2", "https://example.com/?a=1&b=2", false},
		{"a percent sign that escapes nothing", "https://example.com/?q=100%", "https://example.com/?q=100%25", true},
		{"unreadable", "::", "::", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Key(c.a) == Key(c.b); got != c.same {
				t.Errorf("same is %t, want %t: %q and %q", got, c.same, Key(c.a), Key(c.b))
			}
		})
	}
}

func FuzzKey(f *testing.F) {
	f.Add("https://www.example.com/a/../b?x=1&utm_source=y#!/z")
	f.Fuzz(func(t *testing.T, raw string) {
		key := Key(raw)
		if again := Key(raw); again != key {
			t.Fatalf("%q has the keys %q and %q", raw, key, again)
		}
	})
}
