package taskmanager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/uptrace/bun"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/effectkeys"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/board"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/dispatch"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/hub"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/task"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/watch"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	// scope is the name of this service in traces and metrics.
	scope = "nanoclaw/taskmanager"
	// databaseFile stands in the data folder.
	databaseFile = "taskmanager.db"
)

// Deps is what the service needs of its surroundings.
type Deps struct {
	// DataDir has the SQLite file. On SQLite the process holds its lock, so that
	// every lease found at the start is of a process that is gone.
	DataDir string
	// Database has Driver and DSN; the rest is the service's own.
	Database store.Config
	// Blobs holds content that is too large for a row.
	Blobs blob.Bucket
	// Fetcher leads to FetcherService, which reads robots.txt.
	Fetcher grpc.ClientConnInterface
	// Guard decides which addresses may be fetched.
	Guard *netguard.Guard
	// Local says that host:port is the operator's own (netguard.allow), so that
	// no gap between requests is due; nil: none is.
	Local func(hostport string) bool
	// Logger; nil means slog.Default().
	Logger *slog.Logger
}

// Service keeps crawl tasks. It is safe for concurrent use.
type Service struct {
	taskmanagerv1.UnimplementedCrawlTaskServiceServer
	taskmanagerv1.UnimplementedCrawlWorkServiceServer

	cfg      Config
	db       *store.DB
	log      *slog.Logger
	guard    *netguard.Guard
	blobs    blob.Bucket
	fetcher  fetcherv1.FetcherServiceClient
	tracer   trace.Tracer
	pages    metric.Int64Counter
	tools    *toolkit.Provider
	keys     *effectkeys.Store
	tasks    *task.Store
	frontier *frontier.Store
	dispatch *dispatch.Dispatcher
	hub      *hub.Hub
	watcher  *watch.Watcher

	drainOnce sync.Once
	draining  chan struct{}
}

// New opens the database and makes the service. Close it after use.
func New(ctx context.Context, cfg Config, deps Deps) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("task-manager: %w", err)
	}
	if deps.Guard == nil || deps.Fetcher == nil || deps.Blobs == nil {
		return nil, errors.New("task-manager: a network guard, a fetcher and a blob store are needed")
	}
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Local == nil {
		deps.Local = func(string) bool { return false }
	}
	pages, err := otel.Meter(scope).Int64Counter("nanoclaw.crawl.pages",
		metric.WithDescription("Addresses of crawl tasks that workers told about, by outcome."))
	if err != nil {
		return nil, fmt.Errorf("task-manager: make counter: %w", err)
	}
	s := &Service{
		cfg: cfg, log: deps.Logger, guard: deps.Guard, blobs: deps.Blobs, fetcher: fetcherv1.NewFetcherServiceClient(deps.Fetcher),
		tracer: otel.Tracer(scope), pages: pages, hub: &hub.Hub{}, draining: make(chan struct{}),
	}
	if err := s.open(ctx, deps); err != nil {
		return nil, errors.Join(fmt.Errorf("task-manager: %w", err), s.Close())
	}
	return s, nil
}

func (s *Service) open(ctx context.Context, deps Deps) (err error) {
	db := deps.Database
	db.Service, db.Synchronous, db.Migrations = "taskmanager", store.SyncNormal, schema.Migrations()
	if db.Driver != store.DriverMySQL {
		db.Path = filepath.Join(deps.DataDir, databaseFile)
	}
	if s.db, err = store.Open(ctx, db); err != nil {
		return err
	}
	shared, clock := s.db.Driver() == store.DriverMySQL, s.clock()
	s.keys = effectkeys.New(s.db, ident.New(schema.OwnerPrefix))
	s.tasks = &task.Store{DB: s.db, Clock: clock, MaxPerUser: s.cfg.MaxTasksPerUser}
	s.frontier = &frontier.Store{DB: s.db, Clock: clock, RunningPerUser: s.cfg.RunningPerUser, Policy: func(hostport string) host.Policy {
		return host.Policy{Gap: s.cfg.HostGap, Local: deps.Local(hostport), MaxRetries: s.cfg.MaxRetries, Jitter: rand.Float64}
	}}
	s.dispatch = &dispatch.Dispatcher{
		Frontier: s.frontier, Board: board.New(s.cfg.RunningPerUser, shared), Hub: s.hub, Robots: s.askRobots,
		Shared: shared, Draining: s.draining, Log: s.log,
	}
	s.watcher = &watch.Watcher{Tasks: s.tasks, Hub: s.hub, Draining: s.draining, Stall: s.stall}
	if err := s.newTools(); err != nil {
		return err
	}
	if !shared {
		return s.takeOver(ctx)
	}
	return nil
}

// clock is the time by which leases and hosts go. A process that is alone takes
// its own, which no change of the machine's clock moves.
func (s *Service) clock() func(ctx context.Context, tx bun.IDB) (int64, error) {
	if s.db.Driver() == store.DriverMySQL {
		return s.db.NowMillis
	}
	began := time.Now()
	return func(context.Context, bun.IDB) (int64, error) {
		return began.UnixMilli() + time.Since(began).Milliseconds(), nil
	}
}

// takeOver frees what the process before held.
func (s *Service) takeOver(ctx context.Context) error {
	if _, err := s.keys.FreeAll(ctx); err != nil {
		return err
	}
	n, err := s.frontier.FreeAll(ctx)
	if err != nil {
		return err
	}
	if n > 0 {
		s.log.InfoContext(ctx, "going on with crawls of the process before", "leases", n)
	}
	return nil
}

// Register adds the services of crawl tasks and of crawl work to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	taskmanagerv1.RegisterCrawlTaskServiceServer(r, s)
	taskmanagerv1.RegisterCrawlWorkServiceServer(r, s)
}

// RegisterTools adds the task manager's ToolProviderService to a server.
func (s *Service) RegisterTools(r grpc.ServiceRegistrar) { s.tools.Register(r) }

// Run keeps tasks moving until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { s.dispatch.Run(asService(ctx)) })
	wg.Go(func() { s.keys.Run(ctx) })
	wg.Go(func() { s.keepClean(ctx) })
	wg.Wait()
	return nil
}

// Drain tells readers of events to watch again elsewhere, and hands out no more
// work.
func (s *Service) Drain(context.Context) { s.drainOnce.Do(func() { close(s.draining) }) }

// Close ends running tool calls and closes the database. Run must have returned.
func (s *Service) Close() error {
	var err error
	if s.tools != nil {
		err = s.tools.Close()
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	return err
}
