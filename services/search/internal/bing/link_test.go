package bing

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
)

func TestHostsThatOnlyEndLikeBingAreStrangers(t *testing.T) {
	for _, c := range []struct {
		name, href, want string
		kind             page.LinkKind
	}{
		{"the counter", "https://www.bing.com/ck/a?!&&u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS8", "https://example.com/", page.Target},
		{"the counter of another country", "https://cn.bing.com/ck/a?u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS8", "https://example.com/", page.Target},
		{"the counter in capitals with a dot", "https://WWW.BING.COM./ck/a?u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS8", "https://example.com/", page.Target},
		{"the other counter", "https://www.bing.com/alink/link?url=https%3a%2f%2fexample.com%2fa&source=serp-rr", "https://example.com/a", page.Target},
		{"the other counter without an address", "https://www.bing.com/alink/link?source=serp-rr", "", page.Broken},
		{"the other counter around an ad", "https://www.bing.com/alink/link?url=https%3a%2f%2fwww.bing.com%2faclick%3fld%3d1", "", page.Paid},
		{"three counters", "/alink/link?url=https%3a%2f%2fwww.bing.com%2falink%2flink%3furl%3dhttps%253a%252f%252fwww.bing.com%252fck%252fa%253fu%253da1aHR0cHM6Ly9leGFtcGxlLmNvbS8", "", page.Broken},
		{"its search", "/search?q=tea", "", page.Internal},
		{"its ads", "https://www.bing.com/aclick?ld=x", "", page.Paid},
		{"a search of plumbers", "https://plumbing.com/search?q=tea", "https://plumbing.com/search?q=tea", page.Target},
		{"a counter of climbers", "https://www.climbing.com/ck/a?u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS8", "https://www.climbing.com/ck/a?u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS8", page.Target},
		{"an ad counter of theirs", "https://climbing.com/aclick?x=1", "https://climbing.com/aclick?x=1", page.Target},
		{"bing.com in front", "https://bing.com.example/search?q=tea", "https://bing.com.example/search?q=tea", page.Target},
		{"bing.com in the middle", "https://www.bing.com.example/ck/a?u=a1x", "https://www.bing.com.example/ck/a?u=a1x", page.Target},
		{"bing.com in the path", "https://example.com/bing.com/search", "https://example.com/bing.com/search", page.Target},
		{"bing.com in the query", "https://example.com/?ref=bing.com", "https://example.com/?ref=bing.com", page.Target},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, kind := target(c.href); got != c.want || kind != c.kind {
				t.Errorf("%q leads to %q (%d), want %q (%d)", c.href, got, kind, c.want, c.kind)
			}
		})
	}
}
