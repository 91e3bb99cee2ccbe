// Package redistest gives tests a real Redis: with keys of their own, and with a
// line to it that can be cut.
package redistest

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn"
)

// EnvURL names the variable that says where Redis is; DefaultURL holds without.
const (
	EnvURL     = "NANOCLAW_TEST_REDIS_URL"
	DefaultURL = "redis://127.0.0.1:6379/0"
)

// patience is how long anything of a test's own may take.
const patience = 10 * time.Second

// Server is a Redis for one test.
type Server struct {
	// URL is its address.
	URL config.Secret
	// Prefix begins the keys of this test; they are deleted at its end.
	Prefix string
	// Admin is a client of the test's own.
	Admin *redis.Client
}

// Start answers the Redis of EnvURL. Without one the test fails.
func Start(t testing.TB) *Server {
	t.Helper()
	address := os.Getenv(EnvURL)
	if address == "" {
		address = DefaultURL
	}
	opt, err := redis.ParseURL(address)
	if err != nil {
		t.Fatalf("%s is not the address of a Redis", EnvURL)
	}
	logging.Disable() // the driver's own lines on stderr
	opt.DialerRetries, opt.MaxRetries = 1, -1
	s := &Server{URL: config.Secret(address), Prefix: "nanoclaw:test:" + rand.Text() + ":", Admin: redis.NewClient(opt)}
	t.Cleanup(func() {
		if err := s.Admin.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Admin.Ping(ctx).Err(); err != nil {
		t.Fatalf("no Redis at %s: start one (redis-server), or name another with %s: %v", opt.Addr, EnvURL, err)
	}
	t.Cleanup(func() {
		for _, key := range s.Keys(t) {
			if err := s.Admin.Del(context.Background(), key).Err(); err != nil {
				t.Errorf("delete %q: %v", key, err)
			}
		}
	})
	return s
}

// Keys lists the keys of the test.
func (s *Server) Keys(t testing.TB) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var keys []string
	all := s.Admin.Scan(ctx, 0, s.Prefix+"*", 1000).Iterator()
	for all.Next(ctx) {
		keys = append(keys, all.Val())
	}
	if err := all.Err(); err != nil {
		t.Fatalf("list keys: %v", err)
	}
	return keys
}

// Pass makes every key of the test older by d: what expires meanwhile is gone.
func (s *Server) Pass(t testing.TB, d time.Duration) {
	t.Helper()
	ctx := context.Background()
	for _, key := range s.Keys(t) {
		left, err := s.Admin.PTTL(ctx, key).Result()
		if err == nil && left >= 0 {
			// A time in the past deletes.
			err = s.Admin.PExpire(ctx, key, left-d).Err()
		}
		if err != nil {
			t.Fatalf("age %q: %v", key, err)
		}
	}
}

// Conn opens the connection under test, closed at the end.
func Conn(t testing.TB, address config.Secret, log *slog.Logger) *redisconn.Conn {
	t.Helper()
	c, err := redisconn.Open(context.Background(), address, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// Line is a way to a server that can be cut and stalled.
type Line struct {
	// URL is the server's address over the line.
	URL config.Secret

	server string
	lis    net.Listener
	all    sync.WaitGroup

	mu      sync.Mutex
	state   state
	changed chan struct{} // closed and renewed when the state changes
	conns   map[net.Conn]bool
}

type state int

const (
	open    state = iota
	stalled       // takes bytes and passes nothing on
	cut           // closes every connection
)

// Line lays a line to the server, closed at the end.
func (s *Server) Line(t testing.TB) *Line {
	t.Helper()
	u, err := url.Parse(s.URL.Reveal())
	if err != nil {
		t.Fatal("the address of Redis is not a URL")
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	u.Host = lis.Addr().String()
	l := &Line{URL: config.Secret(u.String()), server: server, lis: lis, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
	l.all.Go(l.accept)
	t.Cleanup(func() {
		_ = lis.Close()
		l.Cut()
		l.all.Wait()
	})
	return l
}

// Cut closes the connections there are, and those to come at once.
func (l *Line) Cut() { l.set(cut) }

// Stall keeps the connections and passes nothing on, like a server that hangs.
func (l *Line) Stall() { l.set(stalled) }

// Mend lets everything through again.
func (l *Line) Mend() { l.set(open) }

func (l *Line) set(s state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	close(l.changed)
	l.changed = make(chan struct{})
	if s == cut {
		for c := range l.conns {
			_ = c.Close()
		}
	}
}

func (l *Line) now() (state, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, l.changed
}

func (l *Line) accept() {
	for {
		client, err := l.lis.Accept()
		if err != nil {
			return
		}
		l.all.Go(func() { l.join(client) })
	}
}

func (l *Line) join(client net.Conn) {
	server, err := net.DialTimeout("tcp", l.server, patience)
	if err != nil {
		_ = client.Close()
		return
	}
	l.mu.Lock()
	l.conns[client], l.conns[server] = true, true
	closed := l.state == cut
	l.mu.Unlock()
	if closed {
		_, _ = client.Close(), server.Close()
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{server, client}, {client, server}} {
		both.Go(func() {
			_, _ = io.Copy(gate{way[0], l}, way[1])
			_, _ = client.Close(), server.Close()
		})
	}
	both.Wait()
	l.mu.Lock()
	delete(l.conns, client)
	delete(l.conns, server)
	l.mu.Unlock()
}

// gate holds what is written while the line is stalled.
type gate struct {
	to   net.Conn
	line *Line
}

func (g gate) Write(p []byte) (int, error) {
	for {
		s, changed := g.line.now()
		if s != stalled {
			return g.to.Write(p)
		}
		<-changed
	}
}
