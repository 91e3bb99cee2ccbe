package domains

import (
	"errors"
	"net/url"
	"path"
	"strings"
)

// maxEntryBytes bounds one list entry: a host of 253 bytes, maybe in Unicode,
// and a path prefix.
const maxEntryBytes = 2048

// pattern is one list entry in normal form.
type pattern struct {
	host       Host
	subsOnly   bool   // written as *.host
	pathPrefix string // "" or "/docs": a path or a leading run of whole segments
}

// place is where an address points: what a pattern is compared with.
type place struct {
	host Host
	path string // decoded once, dot segments resolved, begins with "/"
}

// parsePattern reads a list entry: [scheme://][*.]host[:port][/path]. Scheme,
// user information and port say nothing about the domain and are dropped.
func parsePattern(entry string) (pattern, error) {
	switch {
	case entry == "":
		return pattern{}, errors.New("is empty; give a domain such as example.com")
	case len(entry) > maxEntryBytes:
		return pattern{}, errors.New("is longer than 2048 bytes")
	case strings.ContainsAny(entry, "?#"):
		return pattern{}, errors.New("has a query or a fragment; give a domain and at most a path, such as example.com/docs")
	}
	rest, subsOnly := cutWildcard(entry)
	if strings.Contains(rest, "*") {
		return pattern{}, errors.New("has a * in a place other than the front; only *.example.com is understood")
	}
	at, err := locate(rest)
	if bad := (*HostError)(nil); errors.As(err, &bad) {
		return pattern{}, errors.New(hostReasons[bad.Reason])
	}
	if err != nil {
		return pattern{}, err
	}
	if _, isIP := at.host.Addr(); isIP && subsOnly {
		return pattern{}, errors.New("is an IP address, which has no subdomains; drop the leading *")
	}
	p := pattern{host: at.host, subsOnly: subsOnly}
	if at.path != "/" {
		p.pathPrefix = at.path
	}
	return p, nil
}

// cutWildcard removes a leading "*." from the host of an entry.
func cutWildcard(entry string) (string, bool) {
	scheme, host := "", entry
	if i := schemeEnd(entry); i > 0 {
		scheme, host = entry[:i], entry[i:]
	}
	host, found := strings.CutPrefix(host, "*.")
	return scheme + host, found
}

// matches reports whether the pattern covers a place: the host itself (unless
// written with *.), its subdomains at a label boundary, an IP address only
// exactly, and the path prefix at a segment boundary.
func (p pattern) matches(at place) bool {
	self := at.host == p.host && !p.subsOnly
	return (self || at.host.below(p.host)) && pathWithin(at.path, p.pathPrefix)
}

// below reports whether h is a proper subdomain of parent. Both are names: an
// address has an empty name.
func (h Host) below(parent Host) bool {
	head, found := strings.CutSuffix(h.name, parent.name)
	return found && parent.name != "" && strings.HasSuffix(head, ".")
}

func pathWithin(p, prefix string) bool {
	rest, found := strings.CutPrefix(p, prefix)
	return found && (rest == "" || rest[0] == '/')
}

// String returns the normal form of the entry, which reads back as the same
// pattern.
func (p pattern) String() string {
	host := p.host.String()
	if p.subsOnly {
		host = "*." + host
	}
	return host + (&url.URL{Path: p.pathPrefix}).EscapedPath()
}

// locate finds host and path of a URL, or of a bare host[:port][/path].
func locate(raw string) (place, error) {
	// A plain host needs no URL parser, and an IPv6 address without brackets
	// would not get through one.
	h, err := ParseHost(raw)
	if err == nil {
		return place{host: h, path: "/"}, nil
	}
	if bad := (*HostError)(nil); errors.As(err, &bad) && bad.Reason == HostZone {
		return place{}, err
	}
	bare := schemeEnd(raw) == 0
	if bare {
		raw = "//" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		// Not err itself: it repeats the whole input, credentials included.
		return place{}, errors.New("cannot be read as a domain or URL")
	}
	if bare && schemeLike(u) {
		return place{}, errors.New("has a scheme without //; give a domain or an http or https URL")
	}
	h, err = ParseHost(u.Hostname())
	if err != nil {
		return place{}, err
	}
	// Browsers read a backslash as a slash, and a dot segment may be spelled
	// %2e: compare what is asked for in the end.
	return place{host: h, path: path.Clean("/" + strings.ReplaceAll(u.Path, `\`, "/"))}, nil
}

// schemeEnd returns the length of a leading "scheme://" or "//", or 0.
func schemeEnd(raw string) int {
	i := strings.Index(raw, "//")
	switch {
	case i == 0:
		return 2
	case i > 1 && raw[i-1] == ':' && !strings.ContainsAny(raw[:i-1], "/?#@:"):
		return i + 2
	}
	return 0
}

// schemeLike tells "mailto:me@example.com" and "https:/example.com" from a bare
// host: read as an authority, the scheme ends up as a user name with a password
// or as a host with an empty port.
func schemeLike(u *url.URL) bool {
	_, password := u.User.Password()
	return password || strings.HasSuffix(u.Host, ":")
}
