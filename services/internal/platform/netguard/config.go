package netguard

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Limits of the transport a guard hands out.
const (
	dialTimeout           = 5 * time.Second
	tlsHandshakeTimeout   = 5 * time.Second
	responseHeaderTimeout = 15 * time.Second
	idleConnTimeout       = 90 * time.Second
	keepAliveInterval     = 30 * time.Second

	maxResponseHeaderBytes = 64 << 10
	maxIdleConns           = 100
	maxIdleConnsPerHost    = 4

	// MaxRedirects is how many redirects of one request are followed.
	MaxRedirects = 10
)

// DefaultPorts returns the ports that are dialled when Config.Ports is empty.
func DefaultPorts() []uint16 { return []uint16{80, 443, 8080, 8443} }

// Config is what an operator may set. The zero value allows public addresses on
// the default ports and nothing else.
type Config struct {
	// Allow lists exact ip:port pairs ("127.0.0.1:8099", "[::1]:8099") that are
	// dialled although the address is not public or the port not in Ports.
	// Names, ranges and port 0 are refused by New.
	Allow []string
	// Ports replaces the default ports.
	Ports []uint16
	// NAT64Prefixes are the translation prefixes of the operator's own network
	// (RFC 6052 section 2.2). An address below one of them counts as the IPv4
	// address it embeds. The well-known 64:ff9b::/96 is always understood.
	NAT64Prefixes []string
	// RefuseDowngrade refuses redirects from https to http.
	RefuseDowngrade bool
	// Resolver looks names up; nil means Go's own resolver, which unlike the C
	// library reads no number spellings such as 0x7f.1 as addresses.
	Resolver *net.Resolver
}

// policy is the compiled Config: what may be dialled.
type policy struct {
	allow map[netip.AddrPort]struct{}
	ports []uint16
	nat64 []netip.Prefix
}

func (c Config) compile() (policy, error) {
	p := policy{allow: make(map[netip.AddrPort]struct{}, len(c.Allow)), ports: slices.Clone(c.Ports)}
	if len(p.ports) == 0 {
		p.ports = DefaultPorts()
	}
	if i := slices.Index(p.ports, 0); i >= 0 {
		return policy{}, fmt.Errorf("netguard.ports[%d]: port 0 cannot be dialled; remove it", i)
	}
	for i, entry := range c.Allow {
		ap, err := parseAllow(entry)
		if err != nil {
			return policy{}, fmt.Errorf("netguard.allow[%d]: %w", i, err)
		}
		p.allow[ap] = struct{}{}
	}
	for i, entry := range c.NAT64Prefixes {
		prefix, err := parseNAT64(entry)
		if err != nil {
			return policy{}, fmt.Errorf("netguard.nat64_prefixes[%d]: %w", i, err)
		}
		p.nat64 = append(p.nat64, prefix)
	}
	return p, nil
}

func parseAllow(entry string) (netip.AddrPort, error) {
	ap, err := netip.ParseAddrPort(entry)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is not an exact ip:port; write it like 127.0.0.1:8099 or [::1]:8099 (no names, no ranges)", entry)
	}
	addr := ap.Addr().Unmap()
	switch {
	case ap.Port() == 0:
		return netip.AddrPort{}, fmt.Errorf("%q has port 0; name the one port that may be dialled", entry)
	case addr.Zone() != "":
		return netip.AddrPort{}, fmt.Errorf("%q has a zone id; write the address without it", entry)
	case addr.IsUnspecified() || addr.IsMulticast():
		return netip.AddrPort{}, fmt.Errorf("%q is not the address of one host; name the host's own address", entry)
	}
	return netip.AddrPortFrom(addr, ap.Port()), nil
}
