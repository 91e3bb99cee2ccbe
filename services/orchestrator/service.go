package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/api"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/conversation"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/engine"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/identity"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/invoke"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/live"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/peer"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/resulttool"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/usage"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/watch"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	// databaseFile and localTokenFile stand in the data folder.
	databaseFile   = "orchestrator.db"
	localTokenFile = "local.token"
)

// Provider is a tool provider of this deployment.
type Provider struct {
	Name string
	Conn grpc.ClientConnInterface
	// Remote says that it is in another process.
	Remote bool
}

// Deps are what the orchestrator works with.
type Deps struct {
	// DataDir is the data folder, whose lock the process holds.
	DataDir string
	// Database is where records are; its Service and Migrations are set here.
	// The zero value is a SQLite file in DataDir.
	Database store.Config
	Blobs    blob.Bucket
	// Providers are the tool providers of this deployment, the orchestrator's
	// own among them.
	Providers []Provider
	// Version of the program, and the address of a trace in the operator's Jaeger
	// with {trace_id} in it, for people.
	Version, TraceURL string
	// Files leads to the workspaces of conversations, which are deleted with them;
	// nil: there are none.
	Files grpc.ClientConnInterface
	// Peers are the other replicas; nil: there are none.
	Peers *Peers
	// Dial connects to a provider of others; nil: without an identity.
	Dial func(name, address string) (*grpc.ClientConn, error)
	Log  *slog.Logger     // nil: slog.Default
	Now  func() time.Time // nil: time.Now
}

// Peers are the replicas of the orchestrator, which know a run's owner.
type Peers = peer.Peers

// Service is the orchestrator.
type Service struct {
	db       *store.DB
	log      *slog.Logger
	now      func() time.Time
	owner    string // id of the deployment's own user
	token    string // of the owner, for people at this machine
	models   *models
	registry *registry.Registry
	engine   *engine.Engine
	runs     *run.Store
	results  *result.Keeper
	tools    *toolkit.Provider
	identity *identity.Store
	tokens   *auth.TokenCache
	foreign  []*grpc.ClientConn

	conversations *api.Conversations
	runAPI        *api.Runs
	invoker       *invoke.Invoker
	account       *api.Account

	drainOnce sync.Once
	draining  chan struct{}
	shared    bool          // the database has other replicas
	begun     atomic.Bool   // Run was called
	ended     chan struct{} // closed when Run has returned
}

// New opens the database and puts the service together. Close it. After an
// error nothing is left open.
func New(ctx context.Context, cfg Config, deps Deps) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Log == nil {
		deps.Log = slog.Default()
	}
	if deps.Dial == nil {
		deps.Dial = func(_, address string) (*grpc.ClientConn, error) { return rpc.Dial(address, rpc.DialConfig{}) }
	}
	s := &Service{
		log: deps.Log, now: deps.Now, results: &result.Keeper{Bucket: deps.Blobs},
		draining: make(chan struct{}), ended: make(chan struct{}), shared: deps.Database.Driver == store.DriverMySQL,
	}
	if err := s.open(ctx, cfg, deps); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Service) open(ctx context.Context, cfg Config, deps Deps) (err error) {
	if s.db, err = store.Open(ctx, database(deps)); err != nil {
		return err
	}
	s.identity = &identity.Store{DB: s.db, Now: deps.Now}
	s.tokens = auth.NewTokenCache(s.exchange)
	if s.owner, err = s.identity.Owner(ctx); err != nil {
		return err
	}
	if s.token, err = s.identity.LocalToken(ctx, s.owner, filepath.Join(deps.DataDir, localTokenFile)); err != nil {
		return err
	}
	if s.models, err = newModels(cfg, deps.Now); err != nil {
		return err
	}
	providers, err := s.providers(cfg, deps)
	if err != nil {
		return err
	}
	s.registry = registry.New(providers, registry.Policy{
		Enabled: withOwn(cfg.Tools.Enabled), AutoApprove: cfg.Tools.AutoApprove, Timeouts: cfg.Tools.Timeouts,
	}, deps.Log)
	return s.assemble(cfg, deps)
}

// withOwn adds read_result to the tools that are enabled by name: a result that
// is cut says to read on with it.
func withOwn(enabled []string) []string {
	if len(enabled) == 0 {
		return nil
	}
	return append(slices.Clone(enabled), resulttool.Name)
}

func (s *Service) providers(cfg Config, deps Deps) ([]*registry.Provider, error) {
	var out []*registry.Provider
	for _, p := range deps.Providers {
		out = append(out, &registry.Provider{Name: p.Name, Client: toolv1.NewToolProviderServiceClient(p.Conn), Remote: p.Remote})
	}
	for i, p := range cfg.Providers {
		if slices.ContainsFunc(deps.Providers, func(own Provider) bool { return own.Name == p.Name }) {
			return nil, fmt.Errorf("providers[%d].name: %q is a provider of our own; choose another name", i, p.Name)
		}
		conn, err := deps.Dial(p.Name, p.Address)
		if err != nil {
			return nil, fmt.Errorf("provider %s at %s: %w", p.Name, p.Address, err)
		}
		s.foreign = append(s.foreign, conn)
		trust := map[string]registry.Trust{}
		for name, t := range p.Tools {
			trust[name] = registry.Trust{Effect: t.Effect, Sink: t.Sink, Trusted: t.Trusted}
		}
		out = append(out, &registry.Provider{Name: p.Name, Client: toolv1.NewToolProviderServiceClient(conn), Foreign: true, Trust: trust})
	}
	return out, nil
}

// database is where the orchestrator's records are. What it commits must
// survive a power cut: a call that was made must not be forgotten.
func database(deps Deps) store.Config {
	db := deps.Database
	db.Service, db.Synchronous, db.Migrations = "orchestrator", store.SyncFull, schema.Migrations()
	if db.Driver != store.DriverMySQL {
		db.Path = filepath.Join(deps.DataDir, databaseFile)
	}
	return db
}

func (s *Service) assemble(cfg Config, deps Deps) (err error) {
	hub := &live.Hub{}
	s.runs = &run.Store{DB: s.db, Now: deps.Now}
	conversations := &conversation.Store{DB: s.db, Now: deps.Now}
	s.engine = engine.New(cfg.engine(), engine.Deps{
		Runs: s.runs, Conversations: conversations, Results: s.results, Hub: hub, Tools: s.registry, Models: s.models,
		Owner: run.Owner{ID: ident.New("own_"), Addr: deps.Peers.Address()}, Peers: deps.Peers, Log: deps.Log, Now: deps.Now,
	})
	watcher := &watch.Watcher{Runs: s.runs, Hub: hub, Draining: s.draining, Peers: deps.Peers}
	s.conversations = &api.Conversations{
		Store: conversations, Runs: s.runs, Engine: s.engine, Watcher: watcher, Results: s.results, Models: s.models,
	}
	if deps.Files != nil {
		s.conversations.Files = sandboxv1.NewWorkspaceServiceClient(deps.Files)
	}
	s.runAPI = &api.Runs{Store: s.runs, Engine: s.engine, Watcher: watcher}
	s.invoker = &invoke.Invoker{Runs: s.runs, Results: s.results, Tools: s.registry, Log: deps.Log, Now: deps.Now}
	s.account = &api.Account{
		Models: s.models.wire, DefaultModel: s.models.def, Check: s.models.check, Usage: &usage.Store{DB: s.db, Now: deps.Now},
		Server: &pb.GetServerInfoResponse{Version: deps.Version, TraceUrl: deps.TraceURL},
	}
	s.tools, err = resulttool.New(s.runs, s.results, deps.Log)
	return err
}

// Register adds the orchestrator's contracts to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	pb.RegisterConversationServiceServer(r, s.conversations)
	pb.RegisterRunServiceServer(r, s.runAPI)
	pb.RegisterIdentityServiceServer(r, &api.Identity{Store: s.identity, Revoked: s.tokens.Forget})
	pb.RegisterToolServiceServer(r, &api.Tools{Registry: s.registry, Invoker: s.invoker})
	pb.RegisterAccountServiceServer(r, s.account)
}

// RegisterTools adds the orchestrator's own tools to a server.
func (s *Service) RegisterTools(r grpc.ServiceRegistrar) { s.tools.Register(r) }

// Start asks the tool providers, of which those in this process must answer by
// now, and frees what a dead process held. Run follows.
func (s *Service) Start(ctx context.Context) error {
	ctx = s.asService(ctx)
	if err := s.registry.Load(ctx); err != nil {
		return err
	}
	if s.shared {
		return nil // other replicas may be alive: what a dead one held lapses by itself
	}
	if err := s.runs.LoseInvokes(ctx, s.now()); err != nil {
		return fmt.Errorf("end calls of the process before: %w", err)
	}
	n, err := s.runs.FreeAll(ctx)
	if err != nil {
		return err
	}
	if n > 0 {
		s.log.InfoContext(ctx, "going on with runs of the process before", "runs", n)
	}
	return nil
}

// asService is ctx for what the orchestrator does for itself.
func (s *Service) asService(ctx context.Context) context.Context {
	return auth.NewContext(ctx, auth.ServicePrincipal("orchestrator"))
}

// Run drives runs until ctx ends and they are done or released.
func (s *Service) Run(ctx context.Context) error {
	s.begun.Store(true)
	defer close(s.ended)
	var wg sync.WaitGroup
	wg.Go(func() { s.registry.Run(s.asService(ctx)) })
	wg.Go(func() { s.keepClean(ctx) })
	err := s.engine.Run(ctx)
	wg.Wait()
	return err
}

// Drain tells every reader to come back later.
func (s *Service) Drain() { s.drainOnce.Do(func() { close(s.draining) }) }

// Wait returns when Run has, or ctx ends. It waits for no Run that was not
// called.
func (s *Service) Wait(ctx context.Context) {
	if !s.begun.Load() {
		return
	}
	select {
	case <-s.ended:
	case <-ctx.Done():
	}
}

// Tokens knows the users of API tokens, for every door of this process. A token
// that is revoked here it forgets at once.
func (s *Service) Tokens() *auth.TokenCache { return s.tokens }

func (s *Service) exchange(ctx context.Context, token string) (auth.Principal, error) {
	p, err := s.identity.Exchange(ctx, token)
	if errors.Is(err, identity.ErrBadToken) {
		return p, api.BadToken()
	}
	return p, err
}

// Owner is the deployment's own user, with every scope.
func (s *Service) Owner() auth.Principal { return auth.UserPrincipal(s.owner, auth.ScopeAll) }

// LocalToken is the owner's token for people at this machine.
func (s *Service) LocalToken() string { return s.token }

// HasModel reports whether any model is configured.
func (s *Service) HasModel() bool { return s.models.def != "" }

// Close frees what New took. Run must have returned.
func (s *Service) Close() error {
	var err error
	if s.tools != nil {
		err = errors.Join(err, s.tools.Close())
	}
	if s.models != nil {
		s.models.close()
	}
	for _, c := range s.foreign {
		err = errors.Join(err, c.Close())
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	return err
}
