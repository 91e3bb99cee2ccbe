package suite

import (
	"context"
	"crypto/ed25519"
	"errors"
	"time"

	"google.golang.org/grpc"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
	"github.com/nanoclaw/nanoclaw/services/search"
)

// redisPrefix begins the keys of rate buckets.
const redisPrefix = "nanoclaw:rate:"

// services makes the services of the targets, each with the server of its tools.
func (s *Suite) services(ctx context.Context, targets []string) ([]service, error) {
	guard, err := netguard.New(netguard.Config{Allow: s.cfg.Netguard.Allow})
	if err != nil {
		return nil, err
	}
	limiter, err := s.limiter(ctx)
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
			svc, err = search.New(ctx, s.cfg.Search, search.Deps{Guard: guard, Limiter: limiter, Log: s.log})
		case TargetFetcher:
			svc, err = fetcher.New(ctx, s.cfg.Crawler, fetcher.Deps{Guard: guard, Logger: s.log})
		case TargetOrchestrator:
			svc, err = s.newOrchestrator(ctx, providers)
		}
		if err != nil {
			return nil, err
		}
		s.closing(svc.Close)
		svc.RegisterTools(tools)
		svc.RegisterTools(s.router.Provider(name))
		s.tools = append(s.tools, tools)
		all = append(all, svc)
	}
	return all, nil
}

// limiter counts what callers may do: together with the other replicas where
// Redis is configured. nil: each for itself.
func (s *Suite) limiter(ctx context.Context) (ratelimit.Limiter, error) {
	if !s.cfg.Cache.Shared() {
		return nil, nil
	}
	conn, err := redisconn.Open(ctx, s.cfg.Cache.URL, s.log)
	if err != nil {
		return nil, err
	}
	s.closing(conn.Close)
	return ratelimit.NewRedis(conn, redisPrefix), nil
}

func (s *Suite) newOrchestrator(ctx context.Context, providers []orchestrator.Provider) (service, error) {
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
	for _, name := range needs[TargetOrchestrator] {
		if s.local[name] {
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
	s.orchestrator, err = orchestrator.New(ctx, s.cfg.Config, orchestrator.Deps{
		DataDir: s.cfg.DataDir, Database: store.Config{Driver: s.cfg.Storage.Driver, DSN: s.cfg.Storage.DSN},
		Blobs: blobs, Providers: providers, Peers: peers, Dial: s.dialStranger, Log: s.log,
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
