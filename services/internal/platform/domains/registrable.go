package domains

import "golang.org/x/net/publicsuffix"

// Registrable returns the part of a host that somebody registered: the public
// suffix and one label more ("docs.example.co.uk" gives "example.co.uk"). An IP
// literal and a public suffix are returned in normal form as they are. A host
// that ParseHost refuses gives the empty string.
func Registrable(host string) string {
	h, err := ParseHost(host)
	if err != nil {
		return ""
	}
	if h.addr.IsValid() || isPublicSuffix(h.name) {
		return h.String()
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(h.name)
	if err != nil {
		return ""
	}
	return domain
}

// isPublicSuffix reports whether strangers register names directly below the
// name: com, co.uk, github.io, and every single label.
func isPublicSuffix(name string) bool {
	suffix, _ := publicsuffix.PublicSuffix(name)
	return suffix == name
}
