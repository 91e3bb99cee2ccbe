package baidu

import (
	"net/url"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
)

var home = &url.URL{Scheme: "https", Host: "www.baidu.com", Path: "/s"}

// target is where a row leads to: what its attribute says, else its link. Either
// of them can give an advertisement away.
func target(attribute, href string) (string, page.LinkKind) {
	told, kind := kindOf(attribute)
	linked, kindOfLink := kindOf(href)
	switch {
	case kind == page.Paid || kindOfLink == page.Paid:
		return "", page.Paid
	case kind == page.Target || kind == page.Internal:
		return told, kind
	}
	return linked, kindOfLink
}

func kindOf(address string) (string, page.LinkKind) {
	u, kind := page.Resolve(home, address)
	if kind != page.Target {
		return "", kind
	}
	switch host := page.HostOf(u); {
	case host == "nourl.ubs.baidu.com":
		return "", page.Broken // Baidu's word for "no address"
	case host != "baidu.com" && host != "www.baidu.com" && host != "m.baidu.com":
		return u.String(), page.Target
	}
	switch path := u.Path; {
	case path == "/link", path == "/tc", strings.HasSuffix(path, "/tc") && strings.HasPrefix(path, "/from="):
		return u.String(), page.Counter
	case path == "/s", path == "/sf", strings.HasPrefix(path, "/sf/"):
		return "", page.Internal
	}
	return u.String(), page.Target
}
