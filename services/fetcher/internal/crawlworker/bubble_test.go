package crawlworker

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker/crawltest"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pause"
)

// pipes is a network in memory with one server, for time that is not the
// clock's: it is the guard of the fetches, and the listener of the server.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	gone  chan struct{}
	dial  time.Duration // what a connection takes
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.gone:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.gone) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) CheckURL(raw string) (*url.URL, error)                  { return url.Parse(raw) }
func (p *pipes) CheckRedirect(_ *http.Request, _ []*http.Request) error { return nil }
func (p *pipes) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	if pause.For(ctx, p.dial) != nil {
		return nil, ctx.Err()
	}
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.gone:
		return nil, errors.New("no server")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bubble runs f in fake time with a worker and a server at http://site.
func bubble(t *testing.T, dial time.Duration, h http.HandlerFunc, f func(t *testing.T, m *crawltest.Manager, cfg *Config)) {
	synctest.Test(t, func(t *testing.T) {
		network := &pipes{conns: make(chan net.Conn), gone: make(chan struct{}), dial: dial}
		server := &http.Server{Handler: h}
		go func() { _ = server.Serve(network) }()
		client := httpfetch.New(httpfetch.DefaultConfig(), network)
		m := crawltest.New(t)
		f(t, m, &Config{
			ID: "worker-1", Work: crawltest.Direct{Manager: m}, Fetch: fetchWith(client), Robots: allowAll{}, MaxBatches: 4,
			Logger: slog.New(slog.DiscardHandler), Tracer: noop.NewTracerProvider().Tracer(""),
		})
		client.Close()
		_ = server.Close()
		synctest.Wait()
	})
}

// running starts a worker; the answer stops it and tells how long that took.
func running(t *testing.T, cfg *Config) (halt func() time.Duration) {
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = New(*cfg).Run(ctx)
	}()
	return func() time.Duration {
		begin := time.Now()
		stop()
		<-done
		return time.Since(begin)
	}
}

// visits is a server's own log.
type visits struct {
	mu     sync.Mutex
	starts []time.Time
	gauge
}

func (v *visits) enter() {
	v.mu.Lock()
	v.starts = append(v.starts, time.Now())
	v.mu.Unlock()
	v.gauge.enter()
}

// times are when requests came.
func (v *visits) times() []time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.starts)
}

// closest is the shortest distance between two requests.
func (v *visits) closest() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	least := time.Duration(1<<63 - 1)
	for i := 1; i < len(v.starts); i++ {
		least = min(least, v.starts[i].Sub(v.starts[i-1]))
	}
	return least
}
