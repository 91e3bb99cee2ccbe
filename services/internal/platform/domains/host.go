package domains

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// DNS limits in bytes, RFC 1035 section 2.3.4, counted without the root dot.
const (
	maxNameBytes  = 253
	maxLabelBytes = 63
)

// Why ParseHost refused a host; machine words, stable.
const (
	HostEmpty     = "no_host"      // nothing left once a trailing dot is off
	HostMalformed = "bad_host"     // forbidden character, empty or over-long label
	HostIDNA      = "idna"         // not a valid internationalised name
	HostNumeric   = "numeric_host" // 127.1, 0x7f000001, 0177.0.0.1: a number, but not a dotted quad
	HostZone      = "zone"         // IPv6 with a zone id
)

// HostError tells why a host was refused. Reason is one of the Host constants.
type HostError struct {
	Host   string
	Reason string
}

func (e *HostError) Error() string {
	return "host " + strconv.Quote(clip(e.Host)) + " " + hostReasons[e.Reason]
}

var hostReasons = map[string]string{
	HostEmpty:     "is empty",
	HostMalformed: "has an empty or over-long label or a character that no host name may have",
	HostIDNA:      "is not a valid internationalised domain name",
	HostNumeric:   "looks like a number; an IPv4 address is written as four decimal parts, such as 192.0.2.1",
	HostZone:      "has a zone id; write the address without it",
}

// Host is a host in normal form: either a lower-case ASCII name without a
// trailing dot, or an IP address with IPv4-mapped IPv6 unwrapped. Two hosts
// that compare equal with == are the same host. The zero Host is no host.
type Host struct {
	name string
	addr netip.Addr
}

// Addr returns the IP address when the host is a literal.
func (h Host) Addr() (netip.Addr, bool) { return h.addr, h.addr.IsValid() }

// String returns the name, or the address without brackets.
func (h Host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// lookup maps and validates as browsers do (UTS 46, non-transitional), but
// leaves the ASCII rules to us: names with an underscore or with hyphens in
// places 3 and 4 exist in DNS and serve web pages.
var lookup = idna.New(
	idna.MapForLookup(),
	idna.BidiRule(),
	idna.CheckHyphens(false),
	idna.StrictDomainName(false),
)

// ParseHost normalises the host of a URL as url.URL.Hostname returns it, without
// port and brackets. Unicode is mapped to its A-label first and everything else
// is decided on the result, so enclosed digits or a full-width dot cannot hide
// an address. A name whose last label is a number is accepted only as a strict
// dotted quad (the rule of the WHATWG URL standard, section 3.5, without the
// octal, hexadecimal and short spellings). The error is a *HostError.
func ParseHost(raw string) (Host, error) {
	fail := func(reason string) (Host, error) {
		return Host{}, &HostError{Host: raw, Reason: reason}
	}
	if strings.Contains(raw, ":") {
		addr, err := netip.ParseAddr(raw)
		switch {
		case err != nil:
			return fail(HostMalformed)
		case addr.Zone() != "":
			return fail(HostZone)
		}
		return Host{addr: addr.Unmap()}, nil
	}
	if !utf8.ValidString(raw) {
		return fail(HostMalformed)
	}
	name, err := toASCII(raw)
	if err != nil {
		return fail(HostIDNA)
	}
	name = strings.TrimSuffix(name, ".")
	if name == "" {
		return fail(HostEmpty)
	}
	if !validName(name) {
		return fail(HostMalformed)
	}
	if numericLabel(name[strings.LastIndexByte(name, '.')+1:]) {
		addr, err := netip.ParseAddr(name)
		if err != nil {
			return fail(HostNumeric)
		}
		return Host{addr: addr}, nil
	}
	return Host{name: name}, nil
}

// toASCII maps a name to A-labels. The result must map to itself: a Punycode
// label that decodes to plain ASCII would otherwise be a second spelling.
func toASCII(raw string) (string, error) {
	name, err := lookup.ToASCII(raw)
	if err != nil {
		return "", err
	}
	again, err := lookup.ToASCII(name)
	if err != nil {
		return "", err
	}
	if again != name {
		return "", &HostError{Host: raw, Reason: HostIDNA}
	}
	return name, nil
}

func validName(name string) bool {
	if len(name) > maxNameBytes {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabelBytes {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// numericLabel reports whether an address parser somewhere would read the label
// as a number: all digits, or 0x and any hexadecimal digits.
func numericLabel(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// clip shortens foreign text for an error message.
func clip(s string) string {
	const keep = 100
	if len(s) <= keep {
		return s
	}
	return strings.ToValidUTF8(s[:keep], "") + "..."
}
