package duckduckgo

import (
	"net/url"
	"strings"
)

type linkKind int

const (
	linkBroken linkKind = iota
	linkTarget
	linkAd
	linkInternal
)

var home = &url.URL{Scheme: "https", Host: "duckduckgo.com", Path: "/"}

// target unwraps an address of a result page. DuckDuckGo counts clicks through
// /l/?uddg=<address>; its advertisements go through /y.js. Both are looked for
// on its own hosts alone.
func target(href string) (string, linkKind) { return unwrap(strings.TrimSpace(href), maxWrappings) }

// maxWrappings is how many counters may stand around an address.
const maxWrappings = 2

func unwrap(href string, wrappings int) (string, linkKind) {
	u, err := home.Parse(href)
	if err != nil || href == "" || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", linkBroken
	}
	if !isDuckDuckGo(u.Hostname()) {
		return u.String(), linkTarget
	}
	switch {
	case strings.HasPrefix(u.Path, "/y.js"):
		return "", linkAd
	case u.Path == "/l/" || u.Path == "/l":
		inner := u.Query().Get("uddg")
		if inner == "" || wrappings == 0 {
			return "", linkBroken
		}
		return unwrap(inner, wrappings-1)
	case u.Query().Has("q"):
		return "", linkInternal
	}
	return u.String(), linkTarget
}

func isDuckDuckGo(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "duckduckgo.com" || strings.HasSuffix(host, ".duckduckgo.com")
}
