package bing

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
)

var home = &url.URL{Scheme: "https", Host: "www.bing.com", Path: "/search"}

// target unwraps an address of a result page. Bing's click counters are
// /ck/a?...&u=a1<base64url of the address> and /alink/link?url=<address>. They are
// unwrapped on Bing's hosts alone, since other sites have parameters named u too
// (markitdown#2540), and by host rather than by text, since addresses may well
// contain "bing.com".
func target(href string) (string, page.LinkKind) {
	return unwrap(href, maxWrappings)
}

// maxWrappings is how many counters may stand around an address.
const maxWrappings = 2

func unwrap(href string, wrappings int) (string, page.LinkKind) {
	u, kind := page.Resolve(home, href)
	if kind != page.Target {
		return "", kind
	}
	if !page.Within(u, "bing.com") {
		return u.String(), page.Target
	}
	switch {
	case u.Path == "/ck/a", u.Path == "/alink/link":
		inner, ok := wrapped(u)
		if !ok || wrappings == 0 {
			return "", page.Broken
		}
		if strings.HasPrefix(inner, "/") {
			return "", page.Internal
		}
		return unwrap(inner, wrappings-1)
	case u.Path == "/search", strings.HasPrefix(u.Path, "/videos/"), strings.HasPrefix(u.Path, "/images/"),
		strings.HasPrefix(u.Path, "/news/search"), strings.HasPrefix(u.Path, "/shop"):
		return "", page.Internal
	}
	return u.String(), page.Target
}

// wrapped is the address in a counter of clicks.
func wrapped(counter *url.URL) (string, bool) {
	if counter.Path == "/alink/link" {
		inner := counter.Query().Get("url")
		return inner, inner != ""
	}
	return decode(rawParam(counter.RawQuery, "u"))
}

// rawParam finds a parameter without the strictness of url.ParseQuery: these
// queries begin with "!&&".
func rawParam(query, name string) string {
	for pair := range strings.SplitSeq(query, "&") {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			if plain, err := url.PathUnescape(v); err == nil {
				return plain
			}
			return v
		}
	}
	return ""
}

// decode reads the payload: two characters of marker, then base64 in the URL
// alphabet, without padding as a rule. The scheme is part of the payload.
func decode(payload string) (string, bool) {
	if len(payload) < 3 || payload[0] != 'a' {
		return "", false
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(payload[2:], "="))
	if err != nil {
		return "", false
	}
	return string(b), true
}
