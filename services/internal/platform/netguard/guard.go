package netguard

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// Guard checks and dials addresses that strangers chose. It is immutable and
// safe for concurrent use.
type Guard struct {
	policy          policy
	refuseDowngrade bool
	dialer          net.Dialer
}

// New builds a guard. An entry of the configuration that is not exact is an
// error that names it.
func New(cfg Config) (*Guard, error) {
	p, err := cfg.compile()
	if err != nil {
		return nil, fmt.Errorf("network guard: %w", err)
	}
	resolver := cfg.Resolver
	if resolver == nil {
		resolver = &net.Resolver{PreferGo: true}
	}
	g := &Guard{policy: p, refuseDowngrade: cfg.RefuseDowngrade}
	g.dialer = net.Dialer{
		Timeout:        dialTimeout,
		KeepAlive:      keepAliveInterval,
		Resolver:       resolver,
		ControlContext: g.control,
	}
	return g, nil
}

// DialContext connects to host:port over TCP. The host is checked before it is
// looked up, and each resolved address again right before its own connection
// attempt, so a name that changes its answer or mixes public and private ones
// gains nothing. A refusal is an *Error within a *net.OpError, or bare.
func (g *Guard) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &Error{Reason: ReasonParse, Target: clip(addr)}
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, &Error{Reason: ReasonPort, Target: clip(addr)}
	}
	if err := tcpOnly(network, addr); err != nil {
		return nil, err
	}
	end, _, refused := g.policy.endpoint(host, uint16(port))
	if refused != nil {
		return nil, refused
	}
	return g.dialer.DialContext(ctx, network, end.String())
}

// control runs between the creation of a socket and its connect.
func (g *Guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if err := tcpOnly(network, address); err != nil {
		return err
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Error{Reason: ReasonParse, Target: clip(address)}
	}
	if _, refused := g.policy.dialable(ap); refused != nil {
		return refused
	}
	return nil
}

func tcpOnly(network, address string) error {
	switch network {
	case "tcp", "tcp4", "tcp6":
		return nil
	}
	return &Error{Reason: ReasonNetwork, Target: clip(address)}
}
