//go:build e2e

package e2e

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a browser and a server, on an address that stays while
// servers come and go. It cuts connections when it is told to.
type proxy struct {
	addr string
	// upstream is host:port of the server; empty: there is none.
	upstream atomic.Value

	mu    sync.Mutex
	conns map[net.Conn]bool
	// cuts are the bytes after which the next event streams are cut, one each.
	cuts []int
	done int
}

// newProxy serves until the test ends.
func newProxy(t testing.TB) *proxy {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: lis.Addr().String(), conns: map[net.Conn]bool{}}
	p.upstream.Store("")
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.carry(conn) })
		}
	})
	t.Cleanup(func() {
		_ = lis.Close()
		p.cutAll()
		serving.Wait()
	})
	return p
}

func (p *proxy) carry(down net.Conn) {
	defer down.Close()
	up, err := net.Dial("tcp", p.upstream.Load().(string))
	if err != nil {
		return // as if nobody listened
	}
	defer up.Close()
	p.mu.Lock()
	p.conns[down] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, down)
		p.mu.Unlock()
	}()
	var requests sync.WaitGroup
	requests.Go(func() {
		_, _ = io.Copy(up, down)
		_ = up.Close()
	})
	p.answer(down, up)
	_ = down.Close()
	requests.Wait()
}

// answer carries what the server says. An event stream is cut after its share
// of bytes, in the middle of whatever it says.
func (p *proxy) answer(down, up net.Conn) {
	buffer := make([]byte, 32<<10)
	left := -1 // bytes until the cut; -1: no stream, or none to be cut
	for {
		n, err := up.Read(buffer)
		piece := buffer[:n]
		if left < 0 && bytes.Contains(piece, []byte("text/event-stream")) {
			left = p.nextCut()
		}
		if left >= 0 && n >= left {
			_, _ = down.Write(piece[:left])
			p.mu.Lock()
			p.done++
			p.mu.Unlock()
			return
		}
		if left >= 0 {
			left -= n
		}
		if n > 0 {
			if _, err := down.Write(piece); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) nextCut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.cuts) == 0 {
		return -1
	}
	after := p.cuts[0]
	p.cuts = p.cuts[1:]
	return after
}

// cutStreams cuts the next n event streams, each after another number of bytes.
func (p *proxy) cutStreams(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range n {
		p.cuts = append(p.cuts, 700+i*397%3000)
	}
}

// cutAll cuts every connection now, and says how many there were.
func (p *proxy) cutAll() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
	return len(p.conns)
}

// cutCount is how many event streams were cut so far.
func (p *proxy) cutCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}
