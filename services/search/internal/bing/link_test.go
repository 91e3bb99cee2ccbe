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
