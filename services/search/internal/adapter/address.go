package adapter

import (
	"net"
	"net/url"
	"strings"
	"unicode"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/domains"
)

// WebAddress gives the address of a result as it is shown, filtered and fetched:
// its host is written as the network knows it, no name or password stands before
// it, and what nobody sees or what ends an address early is an escape. It is ""
// when there is none: no absolute http or https address, or no host that there
// can be.
func WebAddress(raw string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(raw) {
		if strings.ContainsRune("<>\"`^{|}", r) || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			b.WriteString(url.PathEscape(string(r)))
			continue
		}
		b.WriteRune(r)
	}
	u, err := url.Parse(b.String())
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
	u.User = nil
	u.RawQuery = strings.ReplaceAll(u.RawQuery, `\`, "%5C")
	address, _ := cleanse.Address(u.String())
	return address
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
