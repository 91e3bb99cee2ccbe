package crawlworker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker/crawltest"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/robots"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick are times that a test with a real clock can wait for.
func quick() Times {
	t := DefaultTimes()
	t.Extend, t.PartAge, t.Backoff, t.MaxBackoff, t.Empty = 10*time.Millisecond, 20*time.Millisecond, time.Millisecond, 10*time.Millisecond, time.Millisecond
	return t
}

// farm is a worker with its manager, and the servers that it may ask.
type farm struct {
	t       *testing.T
	manager *crawltest.Manager
	cfg     Config
	log     *syncBuffer
	worker  *Worker
	stop    context.CancelFunc
	stopped chan struct{}
}

// newFarm makes all but the worker; start begins that.
func newFarm(t *testing.T, sites ...*httptest.Server) *farm {
	t.Helper()
	f := &farm{t: t, manager: crawltest.New(t), log: &syncBuffer{}}
	var allow []string
	for _, s := range sites {
		allow = append(allow, s.Listener.Addr().String())
	}
	guard, err := netguard.New(netguard.Config{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	http := httpfetch.DefaultConfig()
	client := httpfetch.New(http, guard)
	checker := robots.New(robots.Config{Client: client, HTTP: http, Cache: cache.NewMemory(1 << 20)})
	t.Cleanup(func() {
		checker.Close()
		client.Close()
		_ = blobs.Close()
	})
	f.cfg = Config{
		ID: "worker-1", Fetch: fetchWith(client), Robots: checker, Blobs: blobs, MaxBatches: 4,
		Logger: slog.New(slog.NewTextHandler(f.log, nil)), Tracer: noop.NewTracerProvider().Tracer(""), Times: quick(),
	}
	return f
}

// start runs the worker until the test ends, or halt.
func (f *farm) start() {
	f.t.Helper()
	f.cfg.Work = taskmanagerv1.NewCrawlWorkServiceClient(f.manager.Conn())
	ctx, stop := context.WithCancel(context.Background())
	f.stop, f.stopped, f.worker = stop, make(chan struct{}), New(f.cfg)
	go func() {
		defer close(f.stopped)
		if err := f.worker.Run(ctx); err != nil {
			f.t.Error(err)
		}
	}()
	f.t.Cleanup(f.halt)
}

func (f *farm) halt() {
	f.stop()
	<-f.stopped
}

// crawl offers one batch and waits for its end.
func (f *farm) crawl(b *taskmanagerv1.CrawlBatch) *crawltest.Lease {
	f.t.Helper()
	l := f.manager.Offer(b)
	<-l.Finished
	return l
}

// fetchWith reads every body as text.
func fetchWith(client *httpfetch.Client) Fetch {
	return func(ctx context.Context, q Query) (Page, error) {
		got, err := client.Get(ctx, httpfetch.Request{URL: q.URL, NoRetry: true, Hop: q.Hop})
		if err != nil {
			return Page{}, rpcerr.New(codes.Unavailable, "CONNECT_FAILED", "%s", err.Error()).WithCause(err)
		}
		return Page{
			Content:    &fetcherv1.PageContent{Text: string(got.Body)},
			Metadata:   &fetcherv1.PageMetadata{StatusCode: int32(got.Status), FinalUrl: got.FinalURL},
			RetryAfter: got.RetryAfter, Duration: time.Millisecond,
		}, nil
	}
}

// serve starts a server on loopback. Its robots.txt allows everything unless h
// answers for it.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// page answers with the path.
func page(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("page " + r.URL.Path)) }

func paths(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("/p", i)
	}
	return out
}

// gauge counts who is inside.
type gauge struct{ now, most atomic.Int64 }

func (g *gauge) enter() {
	n := g.now.Add(1)
	for most := g.most.Load(); n > most && !g.most.CompareAndSwap(most, n); most = g.most.Load() {
	}
}

func (g *gauge) leave() { g.now.Add(-1) }

// syncBuffer is a log that a test reads while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) count(words string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.b.String(), words)
}

// allowAll is a robots.txt that allows everything everywhere.
type allowAll struct{}

func (allowAll) Check(context.Context, *url.URL) (*robots.Verdict, error) {
	return &robots.Verdict{State: robots.StateNone}, nil
}
