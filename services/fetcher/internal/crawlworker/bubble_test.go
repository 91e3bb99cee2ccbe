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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker/crawltest"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
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
	if !sleep(ctx, p.dial) {
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

func TestAHostIsAskedAsTheGrantSays(t *testing.T) {
	tests := []struct {
		name             string
		parallel         int
		gap, serve, dial time.Duration
		most             int64
		takes            time.Duration // 10 pages at the most
	}{
		{"one after the other", 1, 0, 100 * time.Millisecond, 0, 1, time.Second},
		{"three at once", 3, 0, 100 * time.Millisecond, 0, 3, 400 * time.Millisecond},
		{"more at once than there are pages", 64, 0, 100 * time.Millisecond, 0, 10, 100 * time.Millisecond},
		{"a gap", 1, time.Second, 10 * time.Millisecond, 0, 1, 9*time.Second + 10*time.Millisecond},
		{"a gap, and several at once since they are slow", 3, time.Second, 2500 * time.Millisecond, 0, 3, 12 * time.Second},
		{"a gap that a slow server makes longer", 1, time.Second, 3 * time.Second, 0, 1, 30 * time.Second},
		{"a gap while connecting is slow", 3, 200 * time.Millisecond, 500 * time.Millisecond, 150 * time.Millisecond, 3, 4 * time.Second},
		{"no grant", 0, 0, 100 * time.Millisecond, 0, 1, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log visits
			bubble(t, tt.dial, func(w http.ResponseWriter, r *http.Request) {
				log.enter()
				defer log.leave()
				time.Sleep(tt.serve)
				page(w, r)
			}, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
				halt := running(t, cfg)
				begin := time.Now()
				l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(tt.parallel, tt.gap), paths(10)...))
				<-l.Finished
				took := time.Since(begin)
				halt()
				if len(l.Pages()) != 10 || len(log.times()) != 10 {
					t.Errorf("%d pages, %d requests", len(l.Pages()), len(log.times()))
				}
				if log.closest() < tt.gap || log.most.Load() != tt.most || took > tt.takes {
					t.Errorf("%s apart, %d at once, %s in all; want %s, %d, %s", log.closest(), log.most.Load(), took, tt.gap, tt.most, tt.takes)
				}
			})
		})
	}
}

func TestRedirectsOnTheHostKeepTheGapAndAreNotTimedForIt(t *testing.T) {
	const gap = 50 * time.Second // longer than a fetch may take
	var log visits
	bubble(t, 0, func(w http.ResponseWriter, r *http.Request) {
		log.enter()
		defer log.leave()
		if len(r.URL.Path) < 6 {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
			return
		}
		page(w, r)
	}, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
		halt := running(t, cfg)
		l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(2, gap), "/a", "/b"))
		<-l.Finished
		halt()
		if len(log.times()) != 10 || log.closest() < gap {
			t.Errorf("%d requests, %s apart", len(log.times()), log.closest())
		}
		for _, p := range l.Pages() {
			if p.GetOutcome() != "fetched" {
				t.Errorf("%v", p)
			}
		}
	})
}

func TestAHostThatAsksToBeLeftAloneIsAskedNoMore(t *testing.T) {
	for _, tt := range []struct {
		name     string
		parallel int
		gap      time.Duration
		path     string // the answer to the third request
		requests int
		pages    int
	}{
		{"one at a time", 1, 0, "/busy", 3, 3},
		{"others are under way", 3, 0, "/busy", 3, 3},
		{"others wait for their turn", 3, time.Second, "/busy", 3, 3},
		{"a redirect waits for its turn", 2, time.Second, "/redirect", 4, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log visits
			bubble(t, 0, func(w http.ResponseWriter, r *http.Request) {
				log.enter()
				defer log.leave()
				time.Sleep(50 * time.Millisecond)
				switch r.URL.Path {
				default:
					time.Sleep(50 * time.Millisecond)
				case "/redirect":
					http.Redirect(w, r, "/never", http.StatusFound)
				case "/busy":
					w.Header().Set("Retry-After", "60")
					w.WriteHeader(http.StatusTooManyRequests)
				}
			}, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
				halt := running(t, cfg)
				all := append(append([]string{"/a", "/b"}, tt.path, "/busy2"), paths(20)...)
				b := crawltest.Batch("1", "http://site", crawltest.Grant(tt.parallel, tt.gap), all...)
				b.Targets[3].Url = "http://site/busy"
				l := m.Offer(b)
				<-l.Finished
				halt()
				if len(log.times()) != tt.requests || len(l.Pages()) != tt.pages {
					t.Errorf("%d requests, %d pages; want %d, %d", len(log.times()), len(l.Pages()), tt.requests, tt.pages)
				}
			})
		})
	}
}

func TestAHostThatDoesNotAnswerIsGivenUpAfterFiveFailures(t *testing.T) {
	bubble(t, time.Minute, page, func(t *testing.T, m *crawltest.Manager, cfg *Config) { // no connection in time
		halt := running(t, cfg)
		l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(1, 0), paths(20)...))
		<-l.Finished
		halt()
		if n := len(l.Pages()); n != maxFailuresInARow {
			t.Errorf("%d addresses were tried", n)
		}
	})
}

func TestARequestThatIsNeverWrittenGivesItsTurnOn(t *testing.T) {
	bubble(t, time.Minute, page, func(t *testing.T, m *crawltest.Manager, cfg *Config) { // no connection in time
		halt := running(t, cfg)
		begin := time.Now()
		l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(2, time.Second), "/a", "/b", "/c"))
		<-l.Finished
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("three requests of 5 s took %s", took)
		}
		halt()
	})
}

func TestABatchIsGivenUpWhenNothingIsHeardUntilItsLeaseEnds(t *testing.T) {
	var log visits
	bubble(t, 0, func(w http.ResponseWriter, r *http.Request) {
		log.enter()
		defer log.leave()
		page(w, r)
	}, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
		halt := running(t, cfg)
		l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(1, time.Second), paths(32)...))
		<-l.Begun
		time.Sleep(10*time.Second + 500*time.Millisecond)
		committed := len(l.Pages())
		m.Away(status.Error(codes.Unavailable, "away"))
		calls := m.Calls("CommitBatch") + m.Calls("ExtendLease") + m.Calls("LeaseBatch")
		begin := time.Now()
		time.Sleep(30 * time.Second)
		calls = m.Calls("CommitBatch") + m.Calls("ExtendLease") + m.Calls("LeaseBatch") - calls
		times := log.times()
		if last := times[len(times)-1].Sub(begin); last < 12*time.Second || last > 15*time.Second {
			t.Errorf("the last request was %s after the manager went away", last)
		}
		if calls > 60 {
			t.Errorf("%d calls in 30 s while the manager is away", calls)
		}
		m.Away(nil)
		next := m.Offer(crawltest.Batch("2", "http://site", crawltest.Grant(1, 0), "/a"))
		<-next.Finished
		if n := len(l.Pages()); n != committed || n < 9 {
			t.Errorf("%d pages, %d before the manager went away", n, committed)
		}
		halt()
	})
}

func TestStoppingIsBoundedWhileTheManagerIsAway(t *testing.T) {
	bubble(t, 0, page, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
		halt := running(t, cfg)
		l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(1, time.Minute), "/a", "/b"))
		<-l.Begun
		time.Sleep(100 * time.Millisecond) // one page is there, and not committed
		m.Away(status.Error(codes.Unavailable, "away"))
		if took := halt(); took != DefaultTimes().Drain {
			t.Errorf("stopping took %s", took)
		}
		if len(l.Parts()) != 0 {
			t.Errorf("%d parts", len(l.Parts()))
		}
	})
}

func TestStoppingWithoutWorkTakesNoTime(t *testing.T) {
	bubble(t, 0, page, func(t *testing.T, _ *crawltest.Manager, cfg *Config) {
		halt := running(t, cfg)
		synctest.Wait()
		if took := halt(); took != 0 {
			t.Errorf("stopping took %s", took)
		}
	})
}

func TestAnIdleWorkerAsksRarely(t *testing.T) {
	for name, away := range map[string]error{
		"nothing to do":                       nil,
		"the manager is away":                 status.Error(codes.Unavailable, "away"),
		"the manager does not know us":        status.Error(codes.PermissionDenied, "no"),
		"the manager never waits for a batch": errNoWait,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 0, page, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
				if errors.Is(away, errNoWait) {
					cfg.Times = DefaultTimes()
					cfg.Times.Poll = 0
				} else {
					m.Away(away)
				}
				halt := running(t, cfg)
				time.Sleep(time.Minute)
				if calls := m.Calls("LeaseBatch"); calls < 3 || calls > 250 || m.Calls("ExtendLease") != 0 {
					t.Errorf("%d calls in a minute, %d renewals", calls, m.Calls("ExtendLease"))
				}
				halt()
			})
		})
	}
}

var errNoWait = errors.New("no wait")

func TestAllLeasesAreRenewedTogetherEachSecond(t *testing.T) {
	bubble(t, 0, page, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
		halt := running(t, cfg)
		for _, id := range []string{"1", "2", "3"} {
			m.Offer(crawltest.Batch(id, "http://site", crawltest.Grant(1, time.Minute), "/a", "/b"))
		}
		time.Sleep(30*time.Second + 500*time.Millisecond)
		if n := m.Calls("ExtendLease"); n != 30 {
			t.Errorf("%d renewals in 30 s", n)
		}
		halt()
	})
}
