package netguard

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

type block struct {
	prefix netip.Prefix
	reason string
}

// deniedV4 is what of IPv4 is not public unicast: the IANA special-purpose
// registry (RFC 6890 and successors), multicast, class E, and the one address
// of a cloud's own services that looks public.
var deniedV4 = []block{
	{netip.MustParsePrefix("0.0.0.0/32"), ReasonUnspecified},
	{netip.MustParsePrefix("0.0.0.0/8"), ReasonThisNetwork},
	{netip.MustParsePrefix("10.0.0.0/8"), ReasonPrivate},
	{netip.MustParsePrefix("100.100.100.200/32"), ReasonMetadata}, // Alibaba Cloud
	{netip.MustParsePrefix("100.64.0.0/10"), ReasonCGNAT},
	{netip.MustParsePrefix("127.0.0.0/8"), ReasonLoopback},
	{netip.MustParsePrefix("169.254.169.254/32"), ReasonMetadata}, // AWS, Azure, Google, Oracle, ...
	{netip.MustParsePrefix("169.254.170.2/32"), ReasonMetadata},   // AWS ECS
	{netip.MustParsePrefix("169.254.0.0/16"), ReasonLinkLocal},
	{netip.MustParsePrefix("172.16.0.0/12"), ReasonPrivate},
	{netip.MustParsePrefix("192.0.0.192/32"), ReasonMetadata}, // Oracle Cloud
	{netip.MustParsePrefix("192.0.0.0/24"), ReasonReserved},
	{netip.MustParsePrefix("192.0.2.0/24"), ReasonDocumentation},
	{netip.MustParsePrefix("192.88.99.0/24"), ReasonReserved}, // 6to4 relay anycast, RFC 7526
	{netip.MustParsePrefix("192.168.0.0/16"), ReasonPrivate},
	{netip.MustParsePrefix("198.18.0.0/15"), ReasonBenchmarking},
	{netip.MustParsePrefix("198.51.100.0/24"), ReasonDocumentation},
	{netip.MustParsePrefix("203.0.113.0/24"), ReasonDocumentation},
	{netip.MustParsePrefix("224.0.0.0/4"), ReasonMulticast},
	{netip.MustParsePrefix("240.0.0.0/4"), ReasonReserved},
	{netip.MustParsePrefix("168.63.129.16/32"), ReasonMetadata}, // Azure
}

// deniedV6 names what is refused inside 2000::/3, and gives better words for
// some of the rest, all of which is refused anyway.
var deniedV6 = []block{
	{netip.MustParsePrefix("::/128"), ReasonUnspecified},
	{netip.MustParsePrefix("::1/128"), ReasonLoopback},
	{netip.MustParsePrefix("64:ff9b:1::/48"), ReasonNAT64}, // local use, RFC 8215
	{netip.MustParsePrefix("2001::/32"), ReasonTeredo},
	{netip.MustParsePrefix("2001::/23"), ReasonReserved}, // IETF protocol assignments
	{netip.MustParsePrefix("2001:db8::/32"), ReasonDocumentation},
	{netip.MustParsePrefix("3fff::/20"), ReasonDocumentation}, // RFC 9637
	{netip.MustParsePrefix("fd00:ec2::254/128"), ReasonMetadata},
	{netip.MustParsePrefix("fc00::/7"), ReasonPrivate},
	{netip.MustParsePrefix("fe80::/10"), ReasonLinkLocal},
	{netip.MustParsePrefix("ff00::/8"), ReasonMulticast},
}

var (
	globalV6       = netip.MustParsePrefix("2000::/3")
	sixToFour      = netip.MustParsePrefix("2002::/16")
	wellKnownNAT64 = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64     = netip.MustParsePrefix("64:ff9b:1::/48")
	uniqueLocal    = netip.MustParsePrefix("fc00::/7")
)

// refuse returns why an address may not be dialled, or "" for a public unicast
// one. The address comes unmapped. The netip predicates alone would let through
// a third of what is denied here.
func (p policy) refuse(addr netip.Addr) string {
	if addr.Zone() != "" {
		return ReasonZone
	}
	if addr.Is4() {
		return find(deniedV4, addr)
	}
	for _, prefix := range append([]netip.Prefix{wellKnownNAT64}, p.nat64...) {
		if prefix.Contains(addr) {
			v4, ok := embedded(addr, prefix.Bits())
			if !ok {
				return ReasonNAT64
			}
			return find(deniedV4, v4)
		}
	}
	if reason := find(deniedV6, addr); reason != "" {
		return reason
	}
	if !globalV6.Contains(addr) {
		return ReasonReserved
	}
	bytes := addr.As16()
	if sixToFour.Contains(addr) {
		if reason := find(deniedV4, netip.AddrFrom4([4]byte(bytes[2:6]))); reason != "" {
			return reason
		}
	}
	if isISATAP(bytes) {
		return find(deniedV4, netip.AddrFrom4([4]byte(bytes[12:16])))
	}
	return ""
}

func find(blocks []block, addr netip.Addr) string {
	for _, b := range blocks {
		if b.prefix.Contains(addr) {
			return b.reason
		}
	}
	return ""
}

// isISATAP reports an interface identifier that tunnels to an IPv4 address
// (RFC 5214 section 6.1), with the universal bit set or not.
func isISATAP(b [16]byte) bool {
	return binary.BigEndian.Uint32(b[8:12])&^0x02000000 == 0x00005efe
}

// embedded takes the IPv4 address out of a translated one (RFC 6052 section
// 2.2): it follows the prefix and skips byte 8, which must be zero.
func embedded(addr netip.Addr, bits int) (netip.Addr, bool) {
	bytes := addr.As16()
	var v4 [4]byte
	at := bits / 8
	for i := range v4 {
		if at == 8 {
			at++
		}
		v4[i] = bytes[at]
		at++
	}
	return netip.AddrFrom4(v4), bits == 96 || bytes[8] == 0
}

func parseNAT64(entry string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(entry)
	if err != nil || prefix.Addr().Is4() {
		return netip.Prefix{}, fmt.Errorf("%q is not an IPv6 prefix; write it like 2001:db8:64::/96", entry)
	}
	switch prefix.Bits() {
	case 32, 40, 48, 56, 64, 96:
	default:
		return netip.Prefix{}, fmt.Errorf("%q has a length that RFC 6052 does not know; use 32, 40, 48, 56, 64 or 96", entry)
	}
	prefix = prefix.Masked()
	at := prefix.Addr()
	if !globalV6.Contains(at) && !uniqueLocal.Contains(at) && !localNAT64.Contains(at) {
		return netip.Prefix{}, fmt.Errorf("%q is outside of 2000::/3, fc00::/7 and 64:ff9b:1::/48, where a translation prefix can lie", entry)
	}
	return prefix, nil
}
