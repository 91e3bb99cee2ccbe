//go:build backends

package store_test

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
)

// cut is when a connection is cut: before the server gets a statement, or after,
// before its answer comes back.
type cut int

const (
	before cut = iota + 1
	after
)

// proxy stands between a store and its server and can break everything.
type proxy struct {
	t       *testing.T
	cfg     store.Config // through the proxy
	server  string
	rewrite atomic.Pointer[[2]string] // in what the server says

	mu        sync.Mutex
	listener  net.Listener
	conns     map[net.Conn]bool
	statement string
	when      cut
	stalled   chan struct{} // open while nothing passes; nil: everything does
	wg        sync.WaitGroup
}

func newProxy(t *testing.T, cfg store.Config) *proxy {
	addr, err := mysql.ParseDSN(cfg.DSN.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, server: addr.Addr, conns: map[net.Conn]bool{}}
	p.listen(addrtest.Reserve(t))
	addr.Addr = p.listener.Addr().String()
	p.cfg = cfg
	p.cfg.DSN = config.Secret(addr.FormatDSN())
	t.Cleanup(func() {
		p.stall(false)
		p.down()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) listen(addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.listener = l
	p.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(client) })
		}
	})
}

// down refuses connections and cuts those that there are.
func (p *proxy) down() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) up() { p.listen(p.listener.Addr().String()) }

// at cuts the connection of the next statement that begins so.
func (p *proxy) at(statement string, when cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.statement, p.when = statement, when
}

func (p *proxy) stall(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.stalled = make(chan struct{})
	} else if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		client.Close()
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	close := func() {
		client.Close()
		server.Close()
		p.mu.Lock()
		delete(p.conns, client)
		delete(p.conns, server)
		p.mu.Unlock()
	}
	var answers atomic.Bool
	answers.Store(true)
	p.wg.Go(func() {
		defer close()
		p.pass(server, client, func(b []byte) ([]byte, bool) {
			if r := p.rewrite.Load(); r != nil {
				b = bytes.ReplaceAll(b, []byte(r[0]), []byte(r[1]))
			}
			return b, answers.Load()
		})
	})
	defer close()
	p.pass(client, server, func(b []byte) ([]byte, bool) {
		switch p.cutAt(b) {
		case before:
			return nil, false
		case after:
			answers.Store(false) // the answer ends the connection instead
		}
		return b, true
	})
}

// cutAt tells how to cut the connection of a packet.
func (p *proxy) cutAt(packet []byte) cut {
	const header = 5 // of a query: length, number, command
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.statement == "" || len(packet) < header || !bytes.HasPrefix(packet[header:], []byte(p.statement)) {
		return 0
	}
	p.statement = ""
	return p.when
}

func (p *proxy) pass(from, to net.Conn, look func([]byte) ([]byte, bool)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			stalled := p.stalled
			p.mu.Unlock()
			if stalled != nil {
				<-stalled
			}
			b, ok := look(buf[:n])
			if !ok {
				return
			}
			if _, err := to.Write(b); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
