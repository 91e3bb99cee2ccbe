package netguard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustNew(t *testing.T, cfg Config) *Guard {
	t.Helper()
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestNewRefusesWhatIsNotExact(t *testing.T) {
	tests := []struct {
		name  string
		cfg   Config
		words string
	}{
		{"a star", Config{Allow: []string{"*"}}, "netguard.allow[0]"},
		{"a range", Config{Allow: []string{"127.0.0.0/8"}}, "no ranges"},
		{"a range with port", Config{Allow: []string{"127.0.0.0/8:80"}}, "no ranges"},
		{"every address", Config{Allow: []string{"0.0.0.0/0"}}, "no ranges"},
		{"the unspecified address", Config{Allow: []string{"0.0.0.0:80"}}, "not the address of one host"},
		{"the unspecified IPv6 address", Config{Allow: []string{"[::]:80"}}, "not the address of one host"},
		{"the unspecified mapped address", Config{Allow: []string{"[::ffff:0.0.0.0]:80"}}, "not the address of one host"},
		{"multicast", Config{Allow: []string{"224.0.0.1:80"}}, "not the address of one host"},
		{"no port", Config{Allow: []string{"127.0.0.1"}}, "exact ip:port"},
		{"port 0", Config{Allow: []string{"127.0.0.1:0"}}, "port 0"},
		{"every port", Config{Allow: []string{"127.0.0.1:*"}}, "exact ip:port"},
		{"a range of ports", Config{Allow: []string{"127.0.0.1:80-90"}}, "exact ip:port"},
		{"a name", Config{Allow: []string{"127.0.0.1:80", "localhost:80"}}, "netguard.allow[1]"},
		{"a short address", Config{Allow: []string{"127.1:80"}}, "exact ip:port"},
		{"a zone", Config{Allow: []string{"[fe80::1%eth0]:80"}}, "zone id"},
		{"an empty entry", Config{Allow: []string{""}}, "exact ip:port"},
		{"port 0 among the ports", Config{Ports: []uint16{80, 0}}, "netguard.ports[1]"},
		{"a NAT64 prefix that is none", Config{NAT64Prefixes: []string{"2001:db8::"}}, "not an IPv6 prefix"},
		{"a NAT64 prefix of IPv4", Config{NAT64Prefixes: []string{"10.0.0.0/8"}}, "not an IPv6 prefix"},
		{"a NAT64 prefix of an odd length", Config{NAT64Prefixes: []string{"2a00::/33"}}, "RFC 6052"},
		{"a NAT64 prefix over loopback", Config{NAT64Prefixes: []string{"::/96"}}, "outside of"},
		{"a NAT64 prefix over link-local", Config{NAT64Prefixes: []string{"fe80::/64"}}, "outside of"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := New(tt.cfg)
			if err == nil || g != nil || !strings.Contains(err.Error(), tt.words) {
				t.Fatalf("New = %v, %v; want an error with %q", g, err, tt.words)
			}
		})
	}
}

func TestOperatorNAT64Prefixes(t *testing.T) {
	g := mustNew(t, Config{NAT64Prefixes: []string{
		"2a00:aa::/32", "2a00:bb::/40", "2a00:cc::/48", "2a00:dd::/56", "2a00:ee::/64", "2a00:ff::/96", "fd00:64::/96", "64:ff9b:1::/48",
	}})
	// The address is 192.0.2.33 in the table of RFC 6052 section 2.4; here
	// 8.8.4.33 (808:421) and 10.0.2.33 (a00:221).
	tests := []struct{ name, addr, reason string }{
		{"/32 public", "2a00:aa:808:421::", ""},
		{"/32 private", "2a00:aa:a00:221::", ReasonPrivate},
		{"/40 public", "2a00:bb:8:804:21::", ""},
		{"/40 private", "2a00:bb:a:2:21::", ReasonPrivate},
		{"/48 public", "2a00:cc:0:808:4:2100::", ""},
		{"/48 private", "2a00:cc:0:a00:2:2100::", ReasonPrivate},
		{"/56 public", "2a00:dd:0:8:8:421::", ""},
		{"/56 private", "2a00:dd:0:a:0:221::", ReasonPrivate},
		{"/64 public", "2a00:ee::8:804:2100:0", ""},
		{"/64 private", "2a00:ee::a:2:2100:0", ReasonPrivate},
		{"/64 with byte 8 in use", "2a00:ee::108:804:2100:0", ReasonNAT64},
		{"/96 public", "2a00:ff::808:421", ""},
		{"/96 loopback", "2a00:ff::7f00:1", ReasonLoopback},
		{"/96 of unique local, public", "fd00:64::808:421", ""},
		{"/96 of unique local, metadata", "fd00:64::a9fe:a9fe", ReasonMetadata},
		{"beside the /96", "fd00:65::808:421", ReasonPrivate},
		{"local-use prefix, public", "64:ff9b:1:808:4:2100::", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := g.policy.refuse(netip.MustParseAddr(tt.addr)); got != tt.reason {
				t.Fatalf("refuse(%s) = %q, want %q", tt.addr, got, tt.reason)
			}
		})
	}
}

// listen opens a listener at addr ("127.0.0.1:0") and returns its port.
func listen(t *testing.T, addr string) (net.Listener, uint16) {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("listen on %s: %v", addr, err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln, ln.Addr().(*net.TCPAddr).AddrPort().Port()
}

// untouched asserts that nobody has connected to the listener. The kernel hands
// out connections in their order, so the first must be the one made here.
func untouched(t *testing.T, ln net.Listener) {
	t.Helper()
	marker, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer marker.Close()
	first, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if first.RemoteAddr().String() != marker.LocalAddr().String() {
		t.Fatalf("a forbidden connection from %s reached %s", first.RemoteAddr(), ln.Addr())
	}
}

func refusal(t *testing.T, conn net.Conn, err error) *Error {
	t.Helper()
	if conn != nil {
		conn.Close()
		t.Fatalf("connected to %s", conn.RemoteAddr())
	}
	var refused *Error
	if !errors.As(err, &refused) {
		t.Fatalf("error %v, want an *Error", err)
	}
	return refused
}

func at(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }

func TestDialReachesNothingForbidden(t *testing.T) {
	v4, port := listen(t, "127.0.0.1:0")
	v6, port6 := listen(t, "[::1]:0")
	dns := newStubDNS(t, map[string][]records{
		"loop4.example.com":  {{a: []string{"127.0.0.1"}}},
		"loop6.example.com":  {{aaaa: []string{"::1"}}},
		"both.example.com":   {{a: []string{"127.0.0.1"}, aaaa: []string{"::1"}}},
		"many.example.com":   {{a: []string{"10.0.0.1", "127.0.0.1", "169.254.169.254"}, aaaa: []string{"fe80::1", "::1", "fd00:ec2::254"}}},
		"mapped.example.com": {{aaaa: []string{"::ffff:127.0.0.1"}}},
		"nat64.example.com":  {{aaaa: []string{"64:ff9b::7f00:1"}}},
		"zero.example.com":   {{a: []string{"0.0.0.0"}, aaaa: []string{"::"}}},
		"alias.example.com":  {{cname: "db.corp.example.net", a: []string{"127.0.0.1"}}},
	})
	g := mustNew(t, Config{Ports: []uint16{port, port6}, Resolver: dns.resolver()})
	hosts := []string{
		"127.0.0.1", "::ffff:127.0.0.1", "::1", "0.0.0.0", "::", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "localhost", "LOCALHOST.",
		"ip6-localhost", "①②⑦.⓪.⓪.①", "127。0。0。1", "::1%lo", "",
		"loop4.example.com", "loop6.example.com", "both.example.com", "many.example.com", "mapped.example.com", "nat64.example.com",
		"zero.example.com", "alias.example.com", "LOOP4.Example.COM.",
	}
	for _, host := range hosts {
		for _, p := range []uint16{port, port6} {
			conn, err := g.DialContext(t.Context(), "tcp", at(host, p))
			refusal(t, conn, err)
		}
	}
	untouched(t, v4)
	untouched(t, v6)
}

func TestDialRefusesWhatIsNoTCPAddress(t *testing.T) {
	g := mustNew(t, Config{Allow: []string{"127.0.0.1:80"}})
	tests := []struct{ name, network, addr, reason string }{
		{"UDP", "udp", "127.0.0.1:80", ReasonNetwork},
		{"a Unix socket", "unix", "/run/docker.sock:80", ReasonNetwork},
		{"no port", "tcp", "127.0.0.1", ReasonParse},
		{"a named port", "tcp", "127.0.0.1:http", ReasonPort},
		{"a port over 16 bits", "tcp", "127.0.0.1:65616", ReasonPort},
		{"a port that is not listed", "tcp", "8.8.8.8:22", ReasonPort},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := g.DialContext(t.Context(), tt.network, tt.addr)
			if got := refusal(t, conn, err); got.Reason != tt.reason {
				t.Fatalf("reason %s, want %s", got.Reason, tt.reason)
			}
		})
	}
}

func TestDialReachesTheListedPairAlone(t *testing.T) {
	listed, port := listen(t, "127.0.0.1:0")
	neighbour, _ := listen(t, at("127.0.0.2", port))
	other, otherPort := listen(t, "127.0.0.1:0")
	g := mustNew(t, Config{Allow: []string{listed.Addr().String()}, Ports: []uint16{port, otherPort}})

	conn, err := g.DialContext(t.Context(), "tcp", listed.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	for _, addr := range []string{neighbour.Addr().String(), other.Addr().String()} {
		conn, err := g.DialContext(t.Context(), "tcp", addr)
		if got := refusal(t, conn, err); got.Reason != ReasonLoopback || got.Target != addr {
			t.Fatalf("%s refused as %s %s", addr, got.Reason, got.Target)
		}
	}
	untouched(t, neighbour)
	untouched(t, other)
}

func TestDialChecksEachAnswerOfARebindingName(t *testing.T) {
	ln, port := listen(t, "127.0.0.1:0")
	dns := newStubDNS(t, map[string][]records{
		"rebind.example.com": {{a: []string{"8.8.8.8"}}, {a: []string{"127.0.0.1"}}},
	})
	g := mustNew(t, Config{Ports: []uint16{port}, Resolver: dns.resolver()})

	// What a check before the dial would have seen.
	addrs, err := dns.resolver().LookupNetIP(t.Context(), "ip4", "rebind.example.com")
	if err != nil || len(addrs) != 1 || addrs[0].Unmap().String() != "8.8.8.8" {
		t.Fatalf("first lookup: %v, %v", addrs, err)
	}
	if d := g.Classify("http://" + at("rebind.example.com", port) + "/"); d.Verdict != VerdictDNS {
		t.Fatalf("verdict %s", d.Verdict)
	}
	conn, err := g.DialContext(t.Context(), "tcp4", at("rebind.example.com", port))
	if got := refusal(t, conn, err); got.Reason != ReasonLoopback || got.Target != at("127.0.0.1", port) {
		t.Fatalf("refused as %s %s", got.Reason, got.Target)
	}
	untouched(t, ln)
}

func TestDialOfMixedAnswersUsesThePermittedOne(t *testing.T) {
	good, port := listen(t, "127.0.0.1:0")
	bad, _ := listen(t, at("127.0.0.2", port))
	bad6, _ := listen(t, at("::1", port))
	dns := newStubDNS(t, map[string][]records{
		"mixed.example.com": {{a: []string{"127.0.0.2", "127.0.0.1"}, aaaa: []string{"::1"}}},
	})
	g := mustNew(t, Config{Allow: []string{good.Addr().String()}, Ports: []uint16{port}, Resolver: dns.resolver()})
	conn, err := g.DialContext(t.Context(), "tcp", at("mixed.example.com", port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if conn.RemoteAddr().String() != good.Addr().String() {
		t.Fatalf("connected to %s", conn.RemoteAddr())
	}
	untouched(t, bad)
	untouched(t, bad6)
}

func TestSocketCheckUnwrapsMappedAddresses(t *testing.T) {
	g := mustNew(t, Config{Allow: []string{"127.0.0.1:8099"}})
	tests := []struct{ name, addr, reason string }{
		{"listed", "[::ffff:127.0.0.1]:8099", ""},
		{"public", "[::ffff:8.8.8.8]:80", ""},
		{"loopback", "[::ffff:127.0.0.1]:80", ReasonLoopback},
		{"private", "[::ffff:10.0.0.1]:80", ReasonPrivate},
		{"a zone", "[fe80::1%eth0]:80", ReasonZone},
		{"no address", "example.com:80", ReasonParse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var refused *Error
			err := g.control(t.Context(), "tcp6", tt.addr, nil)
			if errors.As(err, &refused) != (tt.reason != "") || refused != nil && refused.Reason != tt.reason {
				t.Fatalf("control(%s) = %v, want reason %q", tt.addr, err, tt.reason)
			}
		})
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ln, _ := listen(t, "127.0.0.1:0")
	g := mustNew(t, Config{Allow: []string{ln.Addr().String()}})
	if conn, err := g.DialContext(ctx, "tcp", ln.Addr().String()); !errors.Is(err, context.Canceled) {
		t.Fatalf("DialContext = %v, %v", conn, err)
	}
}

func TestDialReportsAnUnknownName(t *testing.T) {
	dns := newStubDNS(t, nil)
	g := mustNew(t, Config{Resolver: dns.resolver()})
	_, err := g.DialContext(t.Context(), "tcp", "nobody.example.com:80")
	var notFound *net.DNSError
	if !errors.As(err, &notFound) || !notFound.IsNotFound {
		t.Fatalf("error %v, want a DNS error that says not found", err)
	}
}
