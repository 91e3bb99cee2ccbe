package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/search/internal/answercache"
	"github.com/nanoclaw/nanoclaw/services/search/internal/flight"
	"github.com/nanoclaw/nanoclaw/services/search/internal/health"
	"github.com/nanoclaw/nanoclaw/services/search/internal/selection"
	"github.com/nanoclaw/nanoclaw/services/search/internal/specimen"
	"github.com/nanoclaw/nanoclaw/services/search/internal/transport"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// scope is the name of this service in traces and metrics.
const scope = "nanoclaw/search"

// Deps is what the service needs from its process.
type Deps struct {
	// Guard judges the addresses that are dialled. Required.
	Guard *netguard.Guard
	// Limiter counts searches of users and keeps the distance between requests
	// to an engine. Replicas share one; nil means that this process is alone.
	Limiter ratelimit.Limiter
	// Cache keeps answers, and how engines have been doing. Replicas share one,
	// and then a Limiter too; nil means that this process is alone.
	Cache cache.Cache
	// UnreadDir is where answers that no adapter could read are kept for the
	// operator, the newest of each engine; empty keeps none.
	UnreadDir string
	// Log is slog.Default() when nil.
	Log *slog.Logger
}

// Service is the search service. It is safe for concurrent use.
type Service struct {
	searchv1.UnimplementedSearchServiceServer

	cfg      Config
	log      *slog.Logger
	tracer   trace.Tracer
	attempts metric.Int64Counter
	lookups  metric.Int64Counter
	client   *transport.Client
	engines  map[string]*engine
	rules    selection.Rules
	limiter  ratelimit.Limiter
	health   *health.Book
	answers  *answercache.Cache
	flights  flight.Group[*asked]
	unread   *specimen.Keeper // nil keeps nothing
	tools    *toolkit.Provider
}

// New makes the service. An error names the setting that cannot work. The
// caller closes the service.
func New(_ context.Context, cfg Config, deps Deps) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Guard == nil {
		return nil, errors.New("search: no address guard was given")
	}
	if deps.Log == nil {
		deps.Log = slog.Default()
	}
	if deps.Limiter == nil {
		deps.Limiter = ratelimit.NewMemory()
	}
	attempts, err := otel.Meter(scope).Int64Counter("nanoclaw.search.attempts",
		metric.WithDescription("Questions to search engines, by provider and outcome."))
	if err != nil {
		return nil, fmt.Errorf("search: make counter: %w", err)
	}
	lookups, err := otel.Meter(scope).Int64Counter("nanoclaw.search.cache",
		metric.WithDescription("Answers looked up in the cache, by provider and whether there was one: HIT, MISS, or STALE when nobody answered."))
	if err != nil {
		return nil, fmt.Errorf("search: make counter: %w", err)
	}
	s := &Service{
		cfg:      cfg,
		log:      deps.Log,
		tracer:   otel.Tracer(scope),
		attempts: attempts,
		lookups:  lookups,
		client:   transport.New(deps.Guard),
		engines:  engines(cfg, deps.Limiter),
		limiter:  deps.Limiter,
		health:   health.NewBook(deps.Cache, deps.Limiter, cfg.QueueWait+cfg.AttemptTimeout),
	}
	if deps.Cache == nil {
		deps.Cache = cache.NewMemory(answerCacheBytes)
	}
	s.answers = answercache.New(deps.Cache)
	if deps.UnreadDir != "" {
		s.unread = specimen.New(deps.UnreadDir, cfg.keys()...)
	}
	missing := map[string]string{}
	for name, e := range s.engines {
		missing[name] = e.missing
	}
	s.rules = cfg.rules(missing)
	if err := s.rules.CheckConfigured(); err != nil {
		return nil, err
	}
	if s.tools, err = s.newTools(); err != nil {
		return nil, err
	}
	return s, nil
}

// Register adds SearchService to r.
func (s *Service) Register(r grpc.ServiceRegistrar) { searchv1.RegisterSearchServiceServer(r, s) }

// RegisterTools adds the service's ToolProviderService to r. It is apart, since
// in one process every provider needs a server of its own for it.
func (s *Service) RegisterTools(r grpc.ServiceRegistrar) { s.tools.Register(r) }

// Run returns when ctx ends: searches are made by calls alone.
func (s *Service) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Close ends running tool calls and idle connections. Calls of SearchService have
// ended before.
func (s *Service) Close() error {
	err := s.tools.Close()
	s.flights.Wait()
	s.client.Close()
	return err
}
