package bing

import (
	"net/url"
	"slices"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
)

func TestCapturedPagesAreReadAsKnown(t *testing.T) {
	adaptertest.ReadsCaptured(t, New(Config{}), map[string]outcome.Code{
		"results": outcome.OK, "results_altered_query": outcome.OKAlteredQuery,
		"no_results": outcome.EmptyVerified, "challenge": outcome.Challenge,
	})
}

func TestHandMadePagesAreReadAsWritten(t *testing.T) {
	adaptertest.Reads(t, "", New(Config{}))
}

// known are the parameters that Bing takes from us; a misspelt one would be
// ignored without a word (web-researcher-mcp#261).
var known = []string{"q", "mkt", "setlang", "count", "first", "filters", "adlt", "InfiniteScroll", "SFX", "form", "qft"}

func TestEveryOptionIsExpressedOrNamed(t *testing.T) {
	adaptertest.Options(t, "", New(Config{}), known)
}

func TestRequestsAreByteForByteAsRecorded(t *testing.T) {
	cases := []struct {
		name string
		cfg  Config
		q    adapter.Query
	}{
		{"plain", Config{}, adapter.Query{Text: "tea ceremony", Count: 5}},
		{"operators_and_signs", Config{}, adapter.Query{Text: `"a+b" & c=d #1 100% ü`, Count: 10}},
		{"chinese", Config{}, adapter.Query{Text: "杭州 龙井茶", Count: 5}},
		{"japanese", Config{}, adapter.Query{Text: "抹茶の点て方", Count: 5}},
		{"own_market_and_address", Config{BaseURL: "http://127.0.0.1:8080/mirror/", Market: "de-DE"}, adapter.Query{Text: "tee", Count: 5}},
		{"one_domain", Config{}, adapter.Query{Text: "tea", Count: 20, AllowedDomains: []string{"example.com"}}},
		{"two_domains", Config{}, adapter.Query{Text: "tea", Count: 10, AllowedDomains: []string{"example.com", "example.org"}}},
		{"blocked_domains", Config{}, adapter.Query{Text: "tea", Count: 10, BlockedDomains: []string{"example.com", "example.org/ads"}}},
		{"too_many_domains", Config{}, adapter.Query{Text: "tea", Count: 10, AllowedDomains: []string{"a.org", "b.org", "c.org", "d.org", "e.org", "f.org"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			plan := adaptertest.Plans(t, c.name, New(c.cfg), c.q)
			u, err := url.Parse(plan.Request.URL)
			if err != nil {
				t.Fatal(err)
			}
			for name := range u.Query() {
				if !slices.Contains(known, name) {
					t.Errorf("parameter %q is none of Bing's", name)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) { adaptertest.Fuzz(f, "", New(Config{})) }

func FuzzTarget(f *testing.F) {
	for _, href := range []string{
		"https://www.bing.com/ck/a?!&&p=1&u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS8&ntb=1", "/ck/a?u=a1", "//x",
		"javascript:x", "http://[::1]/", "https://bing.com./ck/a?u=a0eA",
	} {
		f.Add(href)
	}
	f.Fuzz(func(t *testing.T, href string) {
		address, kind := target(href)
		if (kind == page.Target) != (address != "") {
			t.Fatalf("%q gives %q of kind %d", href, address, kind)
		}
	})
}
