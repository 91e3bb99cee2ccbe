package suite

import (
	"context"
	"path/filepath"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
	"github.com/nanoclaw/nanoclaw/services/search"
)

// services makes the services of the targets, each with the server of its tools.
func (s *Suite) services(ctx context.Context, targets []string) ([]service, error) {
	guard, err := netguard.New(netguard.Config{Allow: s.cfg.Netguard.Allow})
	if err != nil {
		return nil, err
	}
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
			svc, err = search.New(ctx, s.cfg.Search, search.Deps{Guard: guard, Log: s.log})
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
		s.tools = append(s.tools, tools)
		all = append(all, svc)
	}
	return all, nil
}

func (s *Suite) newOrchestrator(ctx context.Context, providers []orchestrator.Provider) (service, error) {
	lock, err := store.LockDir(s.cfg.DataDir)
	if err != nil {
		return nil, err
	}
	s.closing(lock.Unlock)
	blobs, err := blob.Open(ctx, filepath.Join(s.cfg.DataDir, "blobs"))
	if err != nil {
		return nil, err
	}
	s.closing(blobs.Close)
	s.orchestrator, err = orchestrator.New(ctx, s.cfg.Config, orchestrator.Deps{
		DataDir: s.cfg.DataDir, Blobs: blobs, Providers: providers, Log: s.log,
	})
	return s.orchestrator, err
}

// mainServer makes the server of all contracts but the tools'.
func (s *Suite) mainServer(services []service) error {
	cfg := rpc.DefaultServerConfig()
	cfg.Logger = s.log
	if s.orchestrator != nil {
		cfg.Exchange = s.orchestrator.Exchange
	}
	if s.opt.NoToken {
		owner := s.Owner()
		cfg.AnonymousPrincipal = &owner
	}
	// Answers take as long as they take; each tool has a time-out of its own.
	cfg.MethodTimeouts = map[string]time.Duration{
		pb.ConversationService_SendMessage_FullMethodName: 0,
		pb.ConversationService_Chat_FullMethodName:        0,
		pb.ToolService_InvokeTool_FullMethodName:          0,
	}
	var err error
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
	return nil
}
