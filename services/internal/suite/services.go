package suite

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"time"

	"google.golang.org/grpc"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
	"github.com/nanoclaw/nanoclaw/services/sandbox"
	"github.com/nanoclaw/nanoclaw/services/search"
	"github.com/nanoclaw/nanoclaw/services/taskmanager"
)

// What the keys in Redis begin with.
const (
	rateKeys  = "nanoclaw:rate:"
	cacheKeys = "nanoclaw:cache:"
)

// services makes the services of the targets, each with the server of its tools.
func (s *Suite) services(ctx context.Context, targets []string) ([]service, error) {
	guard, err := netguard.New(netguard.Config{Allow: s.cfg.Netguard.Allow})
	if err != nil {
		return nil, err
	}
	blobs, err := s.blobs(ctx)
	if err != nil {
		return nil, err
	}
	shared, err := s.redis(ctx)
	if err != nil {
		return nil, err
	}
	s.router = rpc.NewToolRouter()
	var all []service
	var providers []orchestrator.Provider
	for _, name := range targets {
		if name == TargetGateway {
			continue
		}
		tools, err := rpc.NewServer(rpc.ServerConfig{Logger: s.log})
		if err != nil {
			return nil, err
		}
		conn, err := tools.DialInProcess(rpc.DialConfig{})
		if err != nil {
			return nil, err
		}
		s.closing(conn.Close)
		providers = append(providers, orchestrator.Provider{Name: name, Conn: conn})
		var svc service
		switch name {
		case TargetSearch:
			svc, err = search.New(ctx, s.cfg.Search, search.Deps{
				Guard: guard, Limiter: limiterOn(shared), Cache: cacheOn(shared), UnreadDir: s.cfg.UnreadAnswers(), Log: s.log,
			})
		case TargetFetcher:
			svc, err = s.newFetcher(ctx, guard, blobs, shared)
		case TargetTaskManager:
			svc, err = s.newTaskManager(ctx, guard, blobs)
		case TargetSandbox:
			svc, err = s.newSandbox(ctx)
		case TargetOrchestrator:
			svc, err = s.newOrchestrator(ctx, providers, blobs)
		}
		if err != nil {
			return nil, err
		}
		s.closing(svc.Close)
		if d, ok := svc.(drainer); ok {
			s.drains = append(s.drains, d.Drain)
		}
		svc.RegisterTools(tools)
		svc.RegisterTools(s.router.Provider(name))
		s.tools = append(s.tools, tools)
		all = append(all, svc)
	}
	return all, nil
}

// redis is what replicas share beside databases: what callers may do, and what
// robots.txt files say. nil: each for itself, and where nobody needs it.
func (s *Suite) redis(ctx context.Context) (*redisconn.Conn, error) {
	if !s.cfg.Cache.Shared() || !s.local[TargetSearch] && !s.local[TargetFetcher] {
		return nil, nil
	}
	conn, err := redisconn.Open(ctx, s.cfg.Cache.URL, s.log)
	if err != nil {
		return nil, err
	}
	s.closing(conn.Close)
	return conn, nil
}

// blobs is where stored results and pages are; nil for targets that have none.
func (s *Suite) blobs(ctx context.Context) (blob.Bucket, error) {
	if !s.local[TargetOrchestrator] && !s.local[TargetTaskManager] && !s.crawls() {
		return nil, nil
	}
	blobs, err := blob.Open(ctx, s.cfg.BlobLocation())
	if err != nil {
		return nil, err
	}
	s.closing(blobs.Close)
	if s.cfg.Blobs.Shared() { // a folder says at once what is wrong with it
		if err := blob.Check(ctx, blobs); err != nil {
			return nil, err
		}
	}
	return blobs, nil
}

// crawls says that the fetcher of this process works for a task manager.
func (s *Suite) crawls() bool {
	return s.local[TargetFetcher] && (s.local[TargetTaskManager] || s.opt.Listen && s.cfg.Services.TaskManager != "")
}

// limiterOn counts calls where replicas count theirs.
func limiterOn(shared *redisconn.Conn) ratelimit.Limiter {
	if shared == nil {
		return nil
	}
	return ratelimit.NewRedis(shared, rateKeys)
}

// cacheOn keeps answers where replicas find them.
func cacheOn(shared *redisconn.Conn) cache.Cache {
	if shared == nil {
		return nil
	}
	return cache.NewRedis(shared, cacheKeys)
}

func (s *Suite) newFetcher(ctx context.Context, guard *netguard.Guard, blobs blob.Bucket, shared *redisconn.Conn) (service, error) {
	deps := fetcher.Deps{Guard: guard, Logger: s.log, Cache: cacheOn(shared)}
	if s.crawls() {
		if err := s.sharedPages(TargetTaskManager); err != nil {
			return nil, err
		}
		tasks, err := s.reach(TargetFetcher, TargetTaskManager)
		if err != nil {
			return nil, err
		}
		deps.Tasks, deps.Blobs = tasks, blobs
	}
	return fetcher.New(ctx, s.cfg.Crawler, deps)
}

func (s *Suite) newSandbox(ctx context.Context) (service, error) {
	deps := sandbox.Deps{DataDir: s.cfg.DataDir, Database: s.database(), SingleUser: s.singleUser(), Logger: s.log}
	if s.local[TargetFetcher] || s.opt.Listen && s.cfg.Services.Fetcher != "" { // programs are run without one, too
		documents, err := s.reach(TargetSandbox, TargetFetcher)
		if err != nil {
			return nil, err
		}
		deps.Fetcher = documents
	}
	return sandbox.New(ctx, s.cfg.Sandbox, deps)
}

func (s *Suite) newTaskManager(ctx context.Context, guard *netguard.Guard, blobs blob.Bucket) (service, error) {
	if err := s.sharedPages(TargetFetcher); err != nil {
		return nil, err
	}
	pages, err := s.reach(TargetTaskManager, TargetFetcher)
	if err != nil {
		return nil, err
	}
	return taskmanager.New(ctx, s.cfg.Tasks, taskmanager.Deps{
		DataDir: s.cfg.DataDir, Database: s.database(), Blobs: blobs, Fetcher: pages,
		Guard: guard, Local: s.isOwn, Logger: s.log,
	})
}

// sharedPages refuses crawl workers and a task manager in different processes
// that would each keep long pages where the other does not look.
func (s *Suite) sharedPages(other string) error {
	if s.local[other] || s.cfg.Blobs.URL != "" {
		return nil
	}
	return errors.New("crawled pages are written by the fetcher and read by the task-manager, which are different processes here: " +
		"set blobs.url to s3://bucket, or to a folder that both of them see")
}

// isOwn says that the operator has allowed host:port by name.
func (s *Suite) isOwn(hostport string) bool { return slices.Contains(s.cfg.Netguard.Allow, hostport) }

// singleUser says that only people at this machine can call.
func (s *Suite) singleUser() bool {
	return !s.opt.Listen || loopback(s.cfg.GRPC.Addr) && loopback(s.cfg.HTTP.Addr)
}

func (s *Suite) database() store.Config {
	return store.Config{Driver: s.cfg.Storage.Driver, DSN: s.cfg.Storage.DSN}
}

func (s *Suite) newOrchestrator(ctx context.Context, providers []orchestrator.Provider, blobs blob.Bucket) (_ service, err error) {
	for _, name := range needs[TargetOrchestrator] {
		if s.local[name] || optional[name] && s.cfg.Services.of(name) == "" {
			continue
		}
		conn, err := s.reach(TargetOrchestrator, name)
		if err != nil {
			return nil, err
		}
		providers = append(providers, orchestrator.Provider{Name: name, Conn: conn, Remote: true})
	}
	peers := &orchestrator.Peers{Self: s.cfg.GRPC.Advertise, Dial: func(addr string) (*grpc.ClientConn, error) {
		return s.dial(TargetOrchestrator, TargetOrchestrator, addr)
	}}
	s.closing(func() error { peers.Close(); return nil })
	var files grpc.ClientConnInterface
	if s.local[TargetSandbox] || s.cfg.Services.Sandbox != "" {
		if files, err = s.reach(TargetOrchestrator, TargetSandbox); err != nil {
			return nil, err
		}
	}
	s.orchestrator, err = orchestrator.New(ctx, s.cfg.Config, orchestrator.Deps{
		DataDir: s.cfg.DataDir, Database: s.database(),
		Blobs: blobs, Files: files, Providers: providers, Peers: peers, Dial: s.dialStranger, Log: s.log,
		Version: s.opt.Version, TraceURL: s.cfg.Telemetry.TraceURL,
	})
	return s.orchestrator, err
}

// dialStranger connects to a tool provider of others, which gets an identity
// made for it alone.
func (s *Suite) dialStranger(name, address string) (*grpc.ClientConn, error) {
	if s.key == nil { // nothing is served: whoever calls is at this machine
		return rpc.Dial(address, rpc.DialConfig{Logger: s.log})
	}
	return s.dial(TargetOrchestrator, "provider:"+name, address)
}

// mainServer makes the server of all contracts.
func (s *Suite) mainServer(targets []string, services []service) (err error) {
	cfg := rpc.DefaultServerConfig()
	cfg.Logger, cfg.TLS, cfg.Explain = s.log, s.cfg.TLS.RPC(), storageTrouble
	if s.key != nil {
		if cfg.Verifier, err = auth.NewVerifier(s.key.Public().(ed25519.PublicKey), targets...); err != nil {
			return err
		}
	}
	if s.tokens, err = s.tokenCache(targets[0]); err != nil {
		return err
	}
	cfg.Tokens = s.tokens
	if s.opt.NoToken {
		if s.orchestrator == nil {
			return errors.New("serving without a token needs the orchestrator in the same process")
		}
		owner := s.Owner()
		cfg.AnonymousPrincipal = &owner
	}
	// Answers take as long as they take; each tool has a time-out of its own.
	cfg.MethodTimeouts = map[string]time.Duration{
		pb.ConversationService_SendMessage_FullMethodName: 0,
		pb.ConversationService_Chat_FullMethodName:        0,
		pb.ToolService_InvokeTool_FullMethodName:          0,
	}
	if s.main, err = rpc.NewServer(cfg); err != nil {
		return err
	}
	if s.conn, err = s.main.DialInProcess(rpc.DialConfig{}); err != nil {
		return err
	}
	s.closing(s.conn.Close)
	s.inside.conn.Store(s.conn)
	for _, svc := range services {
		svc.Register(s.main)
	}
	if len(targets) < len(order) {
		// Other processes call the tools of this one.
		toolv1.RegisterToolProviderServiceServer(s.main, s.router)
	}
	return nil
}

// tokenCache knows the users of API tokens, wherever the orchestrator is, for
// every door of this process; nil: nobody does.
func (s *Suite) tokenCache(from string) (*auth.TokenCache, error) {
	switch {
	case s.orchestrator != nil:
		return s.orchestrator.Tokens(), nil
	case s.cfg.Services.Orchestrator == "" || !s.opt.Listen:
		return nil, nil
	}
	conn, err := s.reach(from, TargetOrchestrator)
	if err != nil {
		return nil, err
	}
	return auth.NewTokenCache(rpc.RemoteExchange(conn, from)), nil
}
