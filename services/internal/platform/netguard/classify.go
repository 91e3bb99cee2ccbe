package netguard

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/domains"
)

// Verdicts of a Decision.
const (
	VerdictAllow = "allow" // an IP literal that may be dialled
	VerdictDeny  = "deny"
	VerdictDNS   = "dns" // a name: decided on each address it resolves to
)

// Decision is what is known about a URL before any name is looked up.
type Decision struct {
	Verdict string
	// Reason is one of the Reason constants or of the Host constants of package
	// domains.
	Reason string
	// URL is the address to use, nil on deny: the host is in normal form, so
	// that every later reader sees the host that was checked, and a port that
	// is the scheme's own is dropped.
	URL *url.URL
}

// Classify judges a URL as a guard without any configuration does. It is pure.
func Classify(raw string) Decision {
	d, _ := policy{ports: DefaultPorts()}.examine(raw)
	return d
}

// Classify judges a URL under the guard's configuration, without any I/O.
func (g *Guard) Classify(raw string) Decision {
	d, _ := g.policy.examine(raw)
	return d
}

// CheckURL returns the URL to request, in normal form, or an *Error. A name is
// not resolved here: DialContext checks what it resolves to.
func (g *Guard) CheckURL(raw string) (*url.URL, error) {
	d, refused := g.policy.examine(raw)
	if refused != nil {
		return nil, refused
	}
	return d.URL, nil
}

// examine runs the checks of a URL in their order. The *Error is nil unless the
// verdict is deny.
func (p policy) examine(raw string) (Decision, *Error) {
	deny := func(reason, target string) (Decision, *Error) {
		return Decision{Verdict: VerdictDeny, Reason: reason}, &Error{Reason: reason, Target: target}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return deny(ReasonParse, "") // unreadable text may hold a password: not repeated
	}
	defaultPort := uint16(80)
	switch u.Scheme {
	case "http":
	case "https":
		defaultPort = 443
	default:
		return deny(ReasonScheme, clip(u.Scheme))
	}
	if u.User != nil {
		return deny(ReasonUserinfo, clip(u.Host))
	}
	port := defaultPort
	if text := u.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return deny(ReasonPort, clip(u.Host))
		}
		port = uint16(n)
	}
	end, reason, refused := p.endpoint(u.Hostname(), port)
	if refused != nil {
		return Decision{Verdict: VerdictDeny, Reason: refused.Reason}, refused
	}

	normal := *u
	normal.Host = end.Host.String()
	if addr, isIP := end.Addr(); isIP && addr.Is6() {
		normal.Host = "[" + normal.Host + "]"
	}
	if port != defaultPort {
		normal.Host += ":" + strconv.Itoa(int(port))
	}
	verdict := VerdictAllow
	if reason == ReasonResolve {
		verdict = VerdictDNS
	}
	return Decision{Verdict: verdict, Reason: reason, URL: &normal}, nil
}

// endpoint is a host in normal form and the port to dial.
type endpoint struct {
	domains.Host
	port uint16
}

func (e endpoint) String() string {
	return net.JoinHostPort(e.Host.String(), strconv.Itoa(int(e.port)))
}

// endpoint checks what can be checked without a lookup. The reason is
// ReasonResolve for a name that is not refused.
func (p policy) endpoint(host string, port uint16) (endpoint, string, *Error) {
	h, err := domains.ParseHost(host)
	if err != nil {
		reason := ReasonParse
		if bad := (*domains.HostError)(nil); errors.As(err, &bad) {
			reason = bad.Reason
		}
		return endpoint{}, "", &Error{Reason: reason, Target: clip(host)}
	}
	end := endpoint{Host: h, port: port}
	if addr, isIP := h.Addr(); isIP {
		reason, refused := p.dialable(netip.AddrPortFrom(addr, port))
		return end, reason, refused
	}
	if isSpecialName(h.String()) {
		return endpoint{}, "", &Error{Reason: ReasonSpecialName, Target: end.String()}
	}
	if !slices.Contains(p.ports, port) {
		return endpoint{}, "", &Error{Reason: ReasonPort, Target: end.String(), advice: p.portAdvice()}
	}
	return end, ReasonResolve, nil
}

// dialable is the check that everything rests on: may a socket be connected to
// this address and port?
func (p policy) dialable(ap netip.AddrPort) (string, *Error) {
	ap = netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	if _, listed := p.allow[ap]; listed {
		return ReasonAllowListed, nil
	}
	reason := p.refuse(ap.Addr())
	if reason == "" && !slices.Contains(p.ports, ap.Port()) {
		reason = ReasonPort
	}
	if reason == "" {
		return ReasonPublic, nil
	}
	refused := &Error{Reason: reason, Target: ap.String()}
	if ownAddress(reason) {
		refused.advice = fmt.Sprintf("add %s to netguard.allow if this address is yours", ap)
	}
	return reason, refused
}

func (p policy) portAdvice() string {
	words := make([]string, 0, len(p.ports))
	for _, port := range p.ports {
		words = append(words, strconv.Itoa(int(port)))
	}
	return "use one of " + strings.Join(words, ", ") + ", or add the port to netguard.ports"
}

// specialNames never name a host of the public internet: RFC 6761, 6762, 7686,
// 8375, and .internal as reserved by ICANN in 2024.
var specialNames = []string{"localhost", "local", "internal", "home.arpa", "onion"}

func isSpecialName(name string) bool {
	if !strings.Contains(name, ".") {
		return true
	}
	return slices.ContainsFunc(specialNames, func(special string) bool {
		head, found := strings.CutSuffix(name, special)
		return found && (head == "" || strings.HasSuffix(head, "."))
	})
}

// clip keeps foreign text in an error message short.
func clip(s string) string {
	const keep = 100
	if len(s) > keep {
		return s[:keep] + "..."
	}
	return s
}
