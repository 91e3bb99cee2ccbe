package fetcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/document"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/robots"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// Deps is what the service needs of its surroundings.
type Deps struct {
	// Guard decides which addresses may be fetched; needed.
	Guard *netguard.Guard
	// Logger gets one line a failed fetch; nil means slog.Default().
	Logger *slog.Logger
	// Cache keeps what robots.txt files say; replicas share one. nil means one
	// in this process.
	Cache cache.Cache
	// Tasks leads to CrawlWorkService, whose batches Run fetches; nil means that
	// this process crawls nothing.
	Tasks grpc.ClientConnInterface
	// Blobs keeps content of crawled pages that is too long for a message; needed
	// with Tasks, and the same that the task manager reads.
	Blobs blob.Bucket
}

// Service fetches and reads pages. It is safe for concurrent use.
type Service struct {
	fetcherv1.UnimplementedFetcherServiceServer

	client  *httpfetch.Client
	guard   *netguard.Guard
	robots  *robots.Checker
	worker  *crawlworker.Worker // nil: this process crawls nothing
	tools   *toolkit.Provider
	log     *slog.Logger
	tracer  trace.Tracer
	fetches chan struct{} // one token a running fetch
	workers chan struct{} // one token a page being read

	docs      *document.Reader
	documents chan struct{} // one token a document being sent
}

// New makes the service. Close it after use.
func New(_ context.Context, cfg Config, deps Deps) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("fetcher: %w", err)
	}
	if deps.Guard == nil {
		return nil, errors.New("fetcher: a network guard is needed")
	}
	if deps.Tasks != nil && deps.Blobs == nil {
		return nil, errors.New("fetcher: a crawl worker needs a blob store")
	}
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Cache == nil {
		deps.Cache = cache.NewMemory(robotsCacheBytes)
	}
	s := &Service{
		client:  httpfetch.New(cfg.http(), deps.Guard),
		guard:   deps.Guard,
		log:     deps.Logger,
		tracer:  otel.Tracer("nanoclaw/fetcher"),
		fetches: make(chan struct{}, maxFetches),
		workers: make(chan struct{}, cfg.MaxWorkers),

		docs:      newDocumentReader(),
		documents: make(chan struct{}, maxDocuments),
	}
	s.robots = robots.New(robots.Config{Client: s.client, HTTP: cfg.http(), Cache: deps.Cache})
	if deps.Tasks != nil {
		s.worker = s.newWorker(cfg, deps)
	}
	s.tools = toolkit.New(toolkit.Config{Name: "fetcher", Logger: deps.Logger})
	if err := s.addTools(); err != nil {
		return nil, errors.Join(fmt.Errorf("fetcher: %w", err), s.Close())
	}
	return s, nil
}

// Register adds FetcherService to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) { fetcherv1.RegisterFetcherServiceServer(r, s) }

// RegisterTools adds the fetcher's ToolProviderService to a server. It is apart,
// since in one process every provider needs a server of its own for it.
func (s *Service) RegisterTools(r grpc.ServiceRegistrar) { s.tools.Register(r) }

// Run fetches the batches of crawl tasks until ctx ends, where there is a task
// manager. All else works only when called.
func (s *Service) Run(ctx context.Context) error {
	if s.worker != nil {
		return s.worker.Run(ctx)
	}
	<-ctx.Done()
	return nil
}

// Drain lets the crawl worker commit what it has and ends it, as long as the task
// manager can still be called.
func (s *Service) Drain(ctx context.Context) {
	if s.worker != nil {
		s.worker.Drain(ctx)
	}
}

// Close ends running tool calls and idle connections.
func (s *Service) Close() error {
	err := s.tools.Close()
	s.robots.Close()
	s.client.Close()
	return errors.Join(err, s.docs.Close())
}

// Fetch gets one page and extracts what was asked for.
func (s *Service) Fetch(ctx context.Context, req *fetcherv1.FetchRequest) (*fetcherv1.FetchResponse, error) {
	q := query{url: req.GetUrl(), extract: req.GetExtractType(), offset: int(req.GetOffset()), maxChars: defaultMaxChars}
	if req.MaxChars != nil {
		q.maxChars = int(req.GetMaxChars())
	}
	return s.fetch(ctx, q)
}

// query is one fetch, from whichever side it came.
type query struct {
	url, extract     string
	offset, maxChars int
}

var errBusy = rpcerr.New(codes.ResourceExhausted, "FETCHER_BUSY", "%d fetches are running; try again shortly", maxFetches).
	WithRetry(time.Second)

// fetch gets and reads one page. Its errors are *rpcerr.Error.
func (s *Service) fetch(ctx context.Context, q query) (_ *fetcherv1.FetchResponse, err error) {
	select {
	case s.fetches <- struct{}{}:
		defer func() { <-s.fetches }()
	default:
		return nil, errBusy
	}
	ctx, span := s.tracer.Start(ctx, "fetch", trace.WithSpanKind(trace.SpanKindClient))
	defer func() { endSpan(span, err) }()
	got, err := s.get(ctx, span, httpfetch.Request{URL: q.url})
	if err != nil {
		return nil, err
	}
	return s.read(ctx, q, got)
}

func endSpan(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(otelcodes.Error, rpcerr.Reason(err))
	}
	span.End()
}

// get asks a server, and tells the span what came.
func (s *Service) get(ctx context.Context, span trace.Span, req httpfetch.Request) (*httpfetch.Response, error) {
	got, err := s.client.Get(ctx, req)
	if err != nil {
		return nil, s.failed(ctx, span, err)
	}
	span.SetAttributes(
		attribute.String("server.address", hostForOrigin(got.FinalURL)),
		attribute.Int("http.response.status_code", got.Status),
		attribute.Int("http.response.body.size", int(got.RawBytes)),
		attribute.Int("http.request.resend_count", got.Attempts-1),
	)
	return got, nil
}

// read makes the answer to q of what came, when its turn has come.
func (s *Service) read(ctx context.Context, q query, got *httpfetch.Response) (*fetcherv1.FetchResponse, error) {
	final, err := url.Parse(got.FinalURL)
	if err != nil {
		return nil, shape(&httpfetch.Error{Kind: httpfetch.KindProtocol, Err: err, Message: "the answer has no readable address"})
	}
	select {
	case s.workers <- struct{}{}:
		defer func() { <-s.workers }()
	case <-ctx.Done():
		return nil, unread(ctx, final)
	}
	out, err := respond(ctx, s.docs, q, got, final)
	if err != nil && ctx.Err() != nil {
		return nil, unread(ctx, final)
	}
	return out, err
}

// unread is a page that came too late to be read.
func unread(ctx context.Context, final *url.URL) error {
	return shape(&httpfetch.Error{Kind: httpfetch.KindTimeout, Host: final.Host, Err: ctx.Err(), Retryable: true,
		Message: "the page came, but could not be read in time; try again"})
}

// failed logs and shapes a fetch without an answer.
func (s *Service) failed(ctx context.Context, span trace.Span, err error) error {
	var f *httpfetch.Error
	if !errors.As(err, &f) {
		return err
	}
	span.SetAttributes(attribute.String("server.address", f.Host), attribute.String("error.type", string(f.Kind)))
	if f.Kind != httpfetch.KindCancelled && f.Kind != httpfetch.KindHop {
		s.log.InfoContext(ctx, "fetch failed", "host", f.Host, "kind", string(f.Kind), "reason", f.Reason,
			"attempts", f.Attempts, "redirects", f.Redirects)
	}
	return shape(f)
}
