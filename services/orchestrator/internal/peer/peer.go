// Package peer reaches the replica that owns a run. Any replica serves any call:
// what only the owner knows is asked of it in one hop, and SQL is there when it
// cannot be reached.
package peer

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

// hopKey marks a call that one replica makes for another's caller.
const hopKey = "x-peer-hop"

// Peers are the other replicas. The zero Peers has none.
type Peers struct {
	// Self is the address by which others reach this replica; empty: there are
	// no others.
	Self string
	// Dial connects to a replica. The connection signs the principal of each
	// call's context.
	Dial func(addr string) (*grpc.ClientConn, error)

	mu    sync.Mutex
	conns map[string]*grpc.ClientConn
}

// Address is by which others reach this replica; empty: there are no others.
func (p *Peers) Address() string {
	if p == nil {
		return ""
	}
	return p.Self
}

// Owner is the replica at the address, and a context for calls to it. ok is
// false where there is nobody to ask: no address, this replica's own, or a call
// that came from a replica already.
func (p *Peers) Owner(ctx context.Context, addr string) (context.Context, pb.RunServiceClient, bool) {
	if p == nil || p.Dial == nil || addr == "" || addr == p.Self || hopped(ctx) {
		return ctx, nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	conn := p.conns[addr]
	if conn == nil {
		var err error
		if conn, err = p.Dial(addr); err != nil {
			return ctx, nil, false
		}
		if p.conns == nil {
			p.conns = map[string]*grpc.ClientConn{}
		}
		p.conns[addr] = conn
	}
	return metadata.AppendToOutgoingContext(ctx, hopKey, "1"), pb.NewRunServiceClient(conn), true
}

func hopped(ctx context.Context) bool {
	md, _ := metadata.FromIncomingContext(ctx)
	return len(md.Get(hopKey)) > 0
}

// Close ends all connections.
func (p *Peers) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close() // it has nothing left to say
	}
	p.conns = nil
}
