package page

import (
	"net/url"
	"testing"
)

func TestWhatEveryEngineReadsInAnAddress(t *testing.T) {
	home := &url.URL{Scheme: "https", Host: "engine.example", Path: "/s"}
	cases := []struct {
		name, href string
		want       LinkKind
	}{
		{"a page", "https://tea.example/", Target},
		{"a page of the engine's own", "/about", Target},
		{"a name without a scheme", "//tea.example/x", Target},
		{"nothing", " ", Broken},
		{"a script", "javascript:void(0)", Broken},
		{"no address at all", "https://[::1", Broken},
		{"bing's counter of ads", "https://www.bing.com/aclick?ld=e8&u=x", Paid},
		{"bing's in another country", "https://cn.bing.com/aclk?x", Paid},
		{"bing's in capitals with a dot", "https://WWW.Bing.com./aclick", Paid},
		{"duckduckgo's", "//duckduckgo.com/y.js?ad_domain=x", Paid},
		{"duckduckgo's page without scripts", "https://html.duckduckgo.com/y.js?u3=x", Paid},
		{"google's", "https://www.google.com/aclk?sa=l", Paid},
		{"google's in another country", "https://www.google.co.uk/aclk?sa=l", Paid},
		{"google's of partners", "https://www.google.de/pagead/aclk?sa=L", Paid},
		{"google's of advertisers", "https://www.googleadservices.com/pagead/aclk?x", Paid},
		{"doubleclick's", "https://ad.doubleclick.net/ddm/clk/1", Paid},
		{"doubleclick's auctions", "https://googleads.g.doubleclick.net/aclk?x", Paid},
		{"baidu's", "http://www.baidu.com/baidu.php?url=x", Paid},
		{"yahoo's", "https://r.search.yahoo.com/cbclk2/x", Paid},
		{"yandex's", "https://yabs.yandex.ru/count/x", Paid},
		{"a counter in the path of a page", "https://blog.example/bing.com/aclick", Target},
		{"a counter in the query of a page", "https://blog.example/?from=https://www.bing.com/aclick?x", Target},
		{"another site's path of that name", "https://climbing.com/aclick?x", Target},
		{"a host that begins like a counter's", "https://googleadservices.com.example/pagead/aclk", Target},
		{"a host named after google", "https://google.example.com/aclk", Target},
		{"a path that begins like a counter's", "https://www.bing.com/aclick-explained", Target},
		{"help about advertisements", "https://ads.google.com/home/", Target},
		{"doubleclick's own site", "https://www.doubleclick.net/about", Target},
		{"baidu's encyclopaedia about the counter", "https://baike.baidu.com/item/baidu.php", Target},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			u, kind := Resolve(home, c.href)
			if kind != c.want || (u == nil) != (kind == Broken) {
				t.Errorf("%q is of kind %d at %v, want %d", c.href, kind, u, c.want)
			}
		})
	}
}
