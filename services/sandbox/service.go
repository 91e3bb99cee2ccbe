package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/effectkeys"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/admission"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/workspace"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	// scope is the name of this service in traces and metrics.
	scope = "nanoclaw/sandbox"
	// databaseFile and workspacesDir stand in the data folder.
	databaseFile  = "sandbox.db"
	workspacesDir = "workspaces"
	// cleanEvery is how often executions beyond their retention are forgotten.
	cleanEvery = time.Hour
)

// Deps is what the service needs of its surroundings.
type Deps struct {
	// DataDir has the SQLite file and the workspaces. The process holds its
	// lock.
	DataDir string
	// Database has Driver and DSN; the rest is the service's own.
	Database store.Config
	// SingleUser says that only people at this machine can call: then a memory
	// limit that is kept by looking often is enough.
	SingleUser bool
	// Fetcher leads to FetcherService, by which documents are read; nil: they are
	// not, and the tool for it is not there.
	Fetcher grpc.ClientConnInterface
	// Logger; nil means slog.Default().
	Logger *slog.Logger
}

// Service runs code and keeps workspaces. It is safe for concurrent use.
type Service struct {
	sandboxv1.UnimplementedSandboxServiceServer

	cfg        Config
	log        *slog.Logger
	db         *store.DB
	keys       *effectkeys.Store
	workspaces *workspace.Store
	driver     isolate.Driver
	machine    *execution.Machine
	executions *execution.Executions
	tools      *toolkit.Provider
	fetcher    grpc.ClientConnInterface

	closing  sync.Once
	closeErr error
}

// New opens the database and makes the service. Close it after use; after an
// error nothing is left open.
func New(ctx context.Context, cfg Config, deps Deps) (*Service, error) {
	return newService(ctx, cfg, deps, func() (isolate.Driver, error) { return newDriver(cfg, deps.SingleUser) })
}

func newService(ctx context.Context, cfg Config, deps Deps, driver func() (isolate.Driver, error)) (*Service, error) {
	if err := errors.Join(cfg.Validate(), cfg.apartFrom(deps.DataDir)); err != nil {
		return nil, err
	}
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	s := &Service{cfg: cfg, log: deps.Logger, fetcher: deps.Fetcher}
	if err := s.open(ctx, deps, driver); err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox: %w", err), s.Close())
	}
	return s, nil
}

func (s *Service) open(ctx context.Context, deps Deps, driver func() (isolate.Driver, error)) (err error) {
	if s.db, err = store.Open(ctx, database(deps)); err != nil {
		return err
	}
	s.keys = effectkeys.New(s.db, "own_"+rand.Text())
	lost, err := s.keys.FreeAll(ctx)
	if err != nil {
		return err
	}
	if lost > 0 {
		s.log.WarnContext(ctx, "programs of the process before did not end", "programs", lost)
	}
	quota := workspace.Quota{Bytes: int64(s.cfg.Workspaces.QuotaMiB) << 20, Files: s.cfg.Workspaces.MaxFiles}
	if s.workspaces, err = workspace.Open(filepath.Join(deps.DataDir, workspacesDir), quota); err != nil {
		return err
	}
	if s.driver, err = driver(); err != nil {
		return err
	}
	if s.executions, err = s.newExecutions(); err != nil {
		return err
	}
	s.tools, err = s.newTools()
	return err
}

// database is where executions are remembered. One that a power cut makes
// forget was ended by it.
func database(deps Deps) store.Config {
	db := deps.Database
	db.Service, db.Migrations = "sandbox", schema.Migrations()
	if db.Driver != store.DriverMySQL {
		db.Path = filepath.Join(deps.DataDir, databaseFile)
	}
	return db
}

func (s *Service) newExecutions() (*execution.Executions, error) {
	count, err := otel.Meter(scope).Int64Counter("nanoclaw.sandbox.executions",
		metric.WithDescription("Programs that were run or refused, by language and status."))
	if err != nil {
		return nil, fmt.Errorf("make counter: %w", err)
	}
	s.machine = &execution.Machine{Driver: s.driver, Log: s.log}
	return execution.NewExecutions(&execution.Runner{
		Driver: s.driver, Machine: s.machine, Queue: admission.New(s.cfg.parallel(), s.cfg.Queue),
		Workspaces: s.workspaces, Limits: s.cfg.limits(), Roots: s.cfg.roots(),
		Log: s.log, Tracer: otel.Tracer(scope), Count: count,
	}, s.keys), nil
}

// Register adds the services of the sandbox to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	sandboxv1.RegisterSandboxServiceServer(r, s)
	sandboxv1.RegisterWorkspaceServiceServer(r, workspace.NewServer(s.workspaces))
}

// RegisterTools adds the sandbox's ToolProviderService to a server.
func (s *Service) RegisterTools(r grpc.ServiceRegistrar) { s.tools.Register(r) }

// Run tests the sandboxes now and then, and forgets what is old, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if err := s.workspaces.Sweep(ctx); err != nil {
		s.log.WarnContext(ctx, "leftovers of the process before cannot be removed", "error", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.machine.Watch(ctx) })
	wg.Go(func() { s.keys.Run(ctx) })
	wg.Go(func() { s.clean(ctx) })
	wg.Wait()
	return nil
}

// clean forgets old executions.
func (s *Service) clean(ctx context.Context) {
	tick := time.NewTicker(cleanEvery)
	defer tick.Stop()
	for {
		if err := s.keys.Clean(ctx, time.Now()); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "old executions cannot be removed", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends running programs and closes the database. It may be called more
// than once.
func (s *Service) Close() error {
	s.closing.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Service) close() error {
	var errs []error
	if s.tools != nil {
		errs = append(errs, s.tools.Close())
	}
	if s.executions != nil {
		s.executions.Close()
	}
	if s.driver != nil {
		errs = append(errs, s.driver.Close())
	}
	if s.workspaces != nil {
		errs = append(errs, s.workspaces.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}
