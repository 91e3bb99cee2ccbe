// Package suite puts the services together in one process, for the binary and
// for tests alike. Services speak gRPC with each other over in-process
// connections, with the same interceptors as over TCP.
//
// All contracts but one share a server. The exception is ToolProviderService,
// which every provider serves under the same name: inside the process each has a
// server of its own for it, and for other processes a router tells them apart.
package suite

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/nanoclaw/nanoclaw/services/gateway"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
)

// The targets.
const (
	TargetOrchestrator = "orchestrator"
	TargetSearch       = "search"
	TargetFetcher      = "fetcher"
	TargetTaskManager  = "task-manager"
	TargetSandbox      = "sandbox"
	TargetGateway      = "gateway"
)

// ErrNoTarget is about a name that is none of the targets.
var ErrNoTarget = errors.New("there is no target")

// needs are the targets that a target calls.
var needs = map[string][]string{
	TargetSearch:       nil,
	TargetFetcher:      nil,
	TargetTaskManager:  {TargetFetcher},
	TargetSandbox:      nil,
	TargetOrchestrator: {TargetSearch, TargetFetcher, TargetTaskManager, TargetSandbox},
	TargetGateway:      {TargetOrchestrator, TargetSearch, TargetFetcher, TargetTaskManager, TargetSandbox},
}

// optional are the targets that a deployment of several processes can do
// without. Their tools are not there then, and their calls are refused.
var optional = map[string]bool{TargetTaskManager: true, TargetSandbox: true}

// Options say what is started.
type Options struct {
	// Targets are served; empty: all. Without Listen they are started with what
	// they need; with it, what they need and is not among them runs elsewhere,
	// at the addresses of the configuration.
	Targets []string
	// Listen serves HTTP, gRPC and the admin port. Without it the services are
	// there for this process alone, and the gateway is not.
	Listen bool
	// NoToken lets callers on this machine in without a token.
	NoToken bool
	Logger  *slog.Logger
	Version string
	// Telemetry changes how traces are made, for tests.
	Telemetry func(*telemetry.Config)
}

// service is what the suite asks of a service.
type service interface {
	Register(grpc.ServiceRegistrar)
	RegisterTools(grpc.ServiceRegistrar)
	Run(context.Context) error
	Close() error
}

// drainer is a service that has to be told before calls are refused.
type drainer interface{ Drain(context.Context) }

// Suite is the running services.
type Suite struct {
	cfg     Config
	opt     Options
	log     *slog.Logger
	metrics http.Handler

	local map[string]bool // targets of this process
	key   ed25519.PrivateKey

	drains       []func(context.Context)
	main         *rpc.Server
	tokens       *auth.TokenCache
	tools        []*rpc.Server
	router       *rpc.ToolRouter
	conn         *grpc.ClientConn
	inside       *inside
	orchestrator *orchestrator.Service
	gateway      *gateway.Gateway
	listeners    listeners
	servers      []*http.Server

	closes []func() error // in reverse order

	stopRuns context.CancelFunc
	running  sync.WaitGroup
	stopOnce sync.Once
	stopErr  error

	failOnce sync.Once
	failure  error
	done     chan struct{}
}

// Start starts the targets and returns when they are ready. What was started is
// stopped again on an error.
func Start(ctx context.Context, cfg Config, o Options) (*Suite, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Suite{cfg: cfg, opt: o, log: o.Logger, done: make(chan struct{}), inside: &inside{}}
	if err := s.start(ctx); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = s.Stop(stop) // the first error is the one that says why
		return nil, err
	}
	return s, nil
}

func (s *Suite) start(ctx context.Context) error {
	targets, err := s.targets()
	if err != nil {
		return err
	}
	s.local = map[string]bool{}
	for _, t := range targets {
		s.local[t] = true
	}
	if s.opt.Listen {
		if err := s.cfg.Servable(); err != nil {
			return err
		}
		if err := s.listen(); err != nil {
			return err
		}
	}
	if s.local[TargetOrchestrator] || s.local[TargetTaskManager] || s.local[TargetSandbox] {
		lock, err := store.LockDir(s.cfg.DataDir)
		if err != nil {
			return err
		}
		s.closing(lock.Unlock)
	}
	if s.opt.Listen {
		if s.key, err = s.loadKey(); err != nil {
			return err
		}
	}
	if err := s.telemetry(ctx); err != nil {
		return err
	}
	services, err := s.services(ctx, targets)
	if err != nil {
		return err
	}
	if err := s.mainServer(targets, services); err != nil {
		return err
	}
	if err := s.serveInside(ctx, services); err != nil {
		return err
	}
	if s.opt.Listen {
		return s.serveOutside(ctx)
	}
	return nil
}

// order is in which targets are started.
var order = []string{TargetSearch, TargetFetcher, TargetTaskManager, TargetSandbox, TargetOrchestrator, TargetGateway}

// targets are those to start, in the order of starting.
func (s *Suite) targets() ([]string, error) {
	if len(s.opt.Targets) == 0 {
		return order, nil
	}
	wanted := map[string]bool{}
	var add func(name string) error
	add = func(name string) error {
		below, ok := needs[name]
		if !ok {
			return fmt.Errorf("%w %q; the targets are: %s", ErrNoTarget, name, strings.Join(order, ", "))
		}
		wanted[name] = true
		if s.opt.Listen {
			return nil
		}
		for _, n := range below {
			if err := add(n); err != nil {
				return err
			}
		}
		return nil
	}
	for _, n := range s.opt.Targets {
		if err := add(n); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(order), func(n string) bool { return !wanted[n] }), nil
}

func (s *Suite) telemetry(ctx context.Context) error {
	cfg := telemetry.DefaultConfig()
	cfg.Exporter, cfg.OTLPEndpoint, cfg.SampleRatio = s.cfg.Telemetry.Exporter, s.cfg.Telemetry.OTLPEndpoint, s.cfg.Telemetry.SampleRatio
	cfg.ServiceName, cfg.ServiceVersion, cfg.Logger = s.name(), s.opt.Version, s.log
	if s.opt.Telemetry != nil {
		s.opt.Telemetry(&cfg)
	}
	shutdown, metrics, err := telemetry.Setup(ctx, cfg)
	if err != nil {
		return err
	}
	s.metrics = metrics
	s.closing(func() error {
		// Work is done by now; a collector that is away must not make it look
		// otherwise.
		ctx, cancel := context.WithTimeout(context.Background(), lastSpansTime)
		defer cancel()
		if err := shutdown(ctx); err != nil {
			s.log.WarnContext(ctx, "the last traces could not be sent", "to", s.cfg.Telemetry.OTLPEndpoint, "error", err)
		}
		return nil
	})
	return nil
}

// name is what traces and metrics call this process: with its targets, unless
// these are all.
func (s *Suite) name() string {
	targets := s.Serves()
	if len(targets) == len(order) || !s.opt.Listen {
		return telemetry.DefaultServiceName
	}
	return telemetry.DefaultServiceName + "-" + strings.Join(targets, "-")
}

// serveInside makes the services answer each other and starts what they do by
// themselves.
func (s *Suite) serveInside(ctx context.Context, services []service) error {
	for _, server := range append(slices.Clone(s.tools), s.main) {
		s.running.Go(func() { s.fail(server.ServeInProcess()) })
	}
	for _, server := range s.tools {
		if err := server.SetReady(); err != nil {
			return err
		}
	}
	if s.orchestrator != nil {
		if err := s.orchestrator.Start(ctx); err != nil {
			return err
		}
	}
	if err := s.main.SetReady(); err != nil {
		return err
	}
	runs, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopRuns = stop
	for _, svc := range services {
		s.running.Go(func() { s.fail(svc.Run(runs)) })
	}
	return nil
}

// fail ends the suite because a part of it ended with an error.
func (s *Suite) fail(err error) {
	if err == nil || errors.Is(err, http.ErrServerClosed) {
		return
	}
	s.failOnce.Do(func() {
		s.failure = err
		close(s.done)
	})
}

// closing adds what Stop must free.
func (s *Suite) closing(f func() error) { s.closes = append(s.closes, f) }

// Conn leads to every service started. The principal of a call is put into its
// context: auth.NewContext(ctx, s.Owner()).
func (s *Suite) Conn() grpc.ClientConnInterface { return s.conn }

// Owner is the deployment's own user. Without the orchestrator it is somebody
// who may use what is there.
func (s *Suite) Owner() auth.Principal {
	if s.orchestrator == nil {
		return auth.UserPrincipal("local", auth.ScopeAll)
	}
	return s.orchestrator.Owner()
}

// Serves names the targets of this process.
func (s *Suite) Serves() []string {
	return slices.DeleteFunc(slices.Clone(order), func(t string) bool { return !s.local[t] })
}

// HasModel reports whether any model is configured.
func (s *Suite) HasModel() bool { return s.orchestrator != nil && s.orchestrator.HasModel() }

// Done is closed when a part of the suite failed; Err says why.
func (s *Suite) Done() <-chan struct{} { return s.done }

// Err is why Done is closed.
func (s *Suite) Err() error {
	select {
	case <-s.done:
		return s.failure
	default:
		return nil
	}
}
