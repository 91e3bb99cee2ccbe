package netguard

import (
	"net/http"
	"net/url"
)

// CheckRedirect is an http.Client.CheckRedirect. It judges the new address like
// a first one, follows at most MaxRedirects, and rewrites the request to the
// normal form of its URL.
//
// net/http itself drops credentials when a redirect leaves the first host and
// its subdomains. Here they go as soon as any request of the chain left the
// first host, its port (but for http:80 to https:443) or https: a subdomain or
// another port can belong to somebody else. That covers Authorization, Cookie,
// Proxy-Authorization and WWW-Authenticate; a secret in a header of another
// name is the caller's to remove. A cookie jar keeps its own rules.
func (g *Guard) CheckRedirect(req *http.Request, via []*http.Request) error {
	d, refused := g.policy.examine(req.URL.String())
	if refused != nil {
		return refused
	}
	if len(via) > MaxRedirects {
		return &Error{Reason: ReasonTooManyRedirects, Target: clip(req.URL.Host)}
	}
	req.URL = d.URL
	if len(via) == 0 {
		return nil
	}
	if g.refuseDowngrade && via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme == "http" {
		return &Error{Reason: ReasonDowngrade, Target: req.URL.Host}
	}
	if leftOrigin(via[0].URL, append(via[1:len(via):len(via)], req)) {
		for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization", "Www-Authenticate"} {
			req.Header.Del(name)
		}
	}
	return nil
}

// leftOrigin reports whether any request of a chain went where the credentials
// for its first URL must not follow.
func leftOrigin(first *url.URL, chain []*http.Request) bool {
	for _, r := range chain {
		same := r.URL.Scheme == first.Scheme && portOf(r.URL) == portOf(first)
		upgrade := first.Scheme == "http" && portOf(first) == "80" && r.URL.Scheme == "https" && portOf(r.URL) == "443"
		if r.URL.Hostname() != first.Hostname() || !same && !upgrade {
			return true
		}
	}
	return false
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
