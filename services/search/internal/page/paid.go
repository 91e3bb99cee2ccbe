package page

import (
	"net/url"
	"regexp"
)

// adCounters are where engines and those they sell for count the clicks on
// advertisements. Engines show each other's, so any of them may stand on the page
// of any engine.
var adCounters = []struct {
	host *regexp.Regexp
	path *regexp.Regexp
}{
	{hostOf(`bing\.com`), pathOf(`/aclick|/aclk`)},
	{hostOf(`duckduckgo\.com`), pathOf(`/y\.js`)},
	{hostOf(`baidu\.com`), pathOf(`/baidu\.php|/aclick`)},
	{hostOf(`google\.(?:com?\.)?[a-z]{2,3}`), pathOf(`/aclk|/pagead/aclk`)},
	{hostOf(`search\.yahoo\.com`), pathOf(`/cbclk.*`)},
	{hostOf(`googleadservices\.com|ad\.doubleclick\.net|g\.doubleclick\.net|yabs\.yandex\.(?:ru|com)`), pathOf(`.*`)},
}

// hostOf matches domains and their subdomains.
func hostOf(domains string) *regexp.Regexp {
	return regexp.MustCompile(`^(?:.+\.)?(?:` + domains + `)$`)
}

func pathOf(paths string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + paths + `)/?$`) }

// isPaid goes by host and path, never by text: an organic result may well have
// "bing.com/aclick" in its address.
func isPaid(u *url.URL) bool {
	host := HostOf(u)
	for _, c := range adCounters {
		if c.path.MatchString(u.Path) && c.host.MatchString(host) {
			return true
		}
	}
	return false
}
