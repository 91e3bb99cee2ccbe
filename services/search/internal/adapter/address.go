package adapter

import (
	"net"
	"net/url"
	"strings"
	"unicode"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/domains"
)

// WebAddress gives an address of the web as it stands in an API's answer, or ""
// when it is none: no absolute http or https address, or no host that there can
// be. A name in another script is written as the network knows it.
func WebAddress(raw string) string {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	host, err := domains.ParseHost(u.Hostname())
	if err != nil {
		return ""
	}
	if strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }) {
		port := u.Port()
		if u.Host = host.String(); port != "" {
			u.Host = net.JoinHostPort(host.String(), port)
		}
	}
	return u.String()
}

// Host is the host that a domain hint names, without its path, and whether it
// has no path.
func Host(domain string) (host string, whole bool) {
	host, path, _ := strings.Cut(domain, "/")
	return host, path == ""
}

// Hosts are the hosts of domain hints, each once.
func Hosts(domains []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, d := range domains {
		if h, _ := Host(d); !seen[h] {
			seen[h] = true
			out = append(out, h)
		}
	}
	return out
}

// WholeHosts are the domain hints that have no path. To block the host of one
// that has a path would hide pages that nobody wanted hidden.
func WholeHosts(domains []string) []string {
	var out []string
	for _, d := range domains {
		if h, whole := Host(d); whole {
			out = append(out, h)
		}
	}
	return out
}
