package exchange

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/transport"
)

// pipes is a listener whose connections are in memory, so that a fake clock can
// stand still until both ends wait.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

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

// serve gives a client whose every address is answered by h. What it returns
// ends both.
func serve(t *testing.T, h http.Handler) (*transport.Client, func()) {
	t.Helper()
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	listener := newPipes()
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

// overNetwork gives a client that asks real servers.
func overNetwork(t *testing.T) *transport.Client {
	t.Helper()
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return transport.New(guard)
}

// engineAt makes an engine that is asked at an address of the operator's.
func engineAt(t *testing.T, name, address string) adapter.Adapter {
	t.Helper()
	engine, ok := catalog.New(name, catalog.Settings{BaseURL: address, Key: "KEY", Model: "small"})
	if !ok {
		t.Fatalf("no engine is called %s", name)
	}
	return engine
}

// says answers with a status, a body and headers in pairs.
func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Add(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
