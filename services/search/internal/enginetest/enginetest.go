// Package enginetest serves made-up engines over connections in memory, so that
// tests can stand on a fake clock (testing/synctest).
package enginetest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/search/internal/transport"
)

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Client gives a client for which every address from the configuration is
// answered by h, and what ends both.
func Client(t testing.TB, h http.Handler) (*transport.Client, func()) {
	t.Helper()
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	listener := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	server := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	client := transport.NewWith(guard, transport.Options{Dial: listener.dial})
	return client, func() {
		client.Close()
		_ = server.Close()
		<-ended
	}
}
