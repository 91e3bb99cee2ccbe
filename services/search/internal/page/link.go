package page

import (
	"net/url"
	"strings"
)

// LinkKind says what an address on a result page leads to.
type LinkKind int

// The kinds.
const (
	// Broken is an address that cannot be read.
	Broken LinkKind = iota
	// Target leads to a page of the web.
	Target
	// Counter leads there through the engine's counter: nobody sees where to
	// without asking the engine again.
	Counter
	// Paid is an advertisement.
	Paid
	// Internal leads back into the engine's own result pages.
	Internal
)

// OfRow reports whether what the link stands in is meant to be a row of the list.
func (k LinkKind) OfRow() bool { return k != Paid && k != Internal }

// Resolve reads an address as it stands on the page at home, and says what it
// leads to as far as that is the same on the pages of all engines: Broken, with a
// nil address, when it is none of the web; Paid when it counts the clicks on an
// advertisement, of whatever engine; else Target.
func Resolve(home *url.URL, href string) (*url.URL, LinkKind) {
	href = strings.TrimSpace(href)
	u, err := home.Parse(href)
	switch {
	case err != nil || href == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, Broken
	case isPaid(u):
		return u, Paid
	}
	return u, Target
}

// HostOf is the host of an address as it can be compared: in small letters and
// without the dot at its end.
func HostOf(u *url.URL) string { return strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) }

// Within reports whether an address is one of a domain or of its subdomains.
func Within(u *url.URL, domain string) bool {
	host := HostOf(u)
	return host == domain || strings.HasSuffix(host, "."+domain)
}
