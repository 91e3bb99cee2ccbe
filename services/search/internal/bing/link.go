package bing

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// linkKind says what an address on a result page leads to.
type linkKind int

const (
	// linkBroken is an address that cannot be read.
	linkBroken linkKind = iota
	// linkTarget leads to a page of the web.
	linkTarget
	// linkAd is paid for.
	linkAd
	// linkInternal leads back into Bing's own result pages.
	linkInternal
)

var home = &url.URL{Scheme: "https", Host: "www.bing.com", Path: "/search"}

// target unwraps an address of a result page. Bing's click counter is
// /ck/a?...&u=a1<base64url of the address>; it is unwrapped on Bing's hosts
// alone, since other sites have parameters named u too (markitdown#2540), and
// by host rather than by text, since addresses may well contain "bing.com".
func target(href string) (string, linkKind) {
	return unwrap(strings.TrimSpace(href), maxWrappings)
}

// maxWrappings is how many counters may stand around an address.
const maxWrappings = 2

func unwrap(href string, wrappings int) (string, linkKind) {
	u, err := home.Parse(href)
	if err != nil || href == "" || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", linkBroken
	}
	if !isBing(u.Hostname()) {
		return u.String(), linkTarget
	}
	switch {
	case u.Path == "/ck/a" && wrappings == 0:
		return "", linkBroken
	case u.Path == "/ck/a":
		inner, ok := decode(rawParam(u.RawQuery, "u"))
		if !ok {
			return "", linkBroken
		}
		if strings.HasPrefix(inner, "/") {
			return "", linkInternal
		}
		return unwrap(inner, wrappings-1)
	case u.Path == "/aclick" || u.Path == "/aclk":
		return "", linkAd
	case u.Path == "/search", strings.HasPrefix(u.Path, "/videos/"), strings.HasPrefix(u.Path, "/images/"),
		strings.HasPrefix(u.Path, "/news/search"), strings.HasPrefix(u.Path, "/shop"):
		return "", linkInternal
	}
	return u.String(), linkTarget
}

func isBing(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "bing.com" || strings.HasSuffix(host, ".bing.com")
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
