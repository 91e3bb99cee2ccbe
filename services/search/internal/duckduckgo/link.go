package duckduckgo

import (
	"net/url"

	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
)

var home = &url.URL{Scheme: "https", Host: "duckduckgo.com", Path: "/"}

// target unwraps an address of a result page. DuckDuckGo counts clicks through
// /l/?uddg=<address>, which is looked for on its own hosts alone.
func target(href string) (string, page.LinkKind) { return unwrap(href, maxWrappings) }

// maxWrappings is how many counters may stand around an address.
const maxWrappings = 2

func unwrap(href string, wrappings int) (string, page.LinkKind) {
	u, kind := page.Resolve(home, href)
	if kind != page.Target {
		return "", kind
	}
	if !page.Within(u, "duckduckgo.com") {
		return u.String(), page.Target
	}
	switch {
	case u.Path == "/l/" || u.Path == "/l":
		inner := u.Query().Get("uddg")
		if inner == "" || wrappings == 0 {
			return "", page.Broken
		}
		return unwrap(inner, wrappings-1)
	case u.Query().Has("q"):
		return "", page.Internal
	}
	return u.String(), page.Target
}
