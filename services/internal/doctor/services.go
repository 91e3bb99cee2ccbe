package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// services are those that run in other processes.
func (x *examination) services() []check {
	var all []check
	for _, s := range []struct{ name, address string }{
		{suite.TargetOrchestrator, x.cfg.Services.Orchestrator}, {suite.TargetSearch, x.cfg.Services.Search}, {suite.TargetFetcher, x.cfg.Services.Fetcher},
		{suite.TargetTaskManager, x.cfg.Services.TaskManager}, {suite.TargetSandbox, x.cfg.Services.Sandbox},
	} {
		if s.address != "" {
			all = append(all, check{"service " + s.name, func(ctx context.Context) []Finding { return x.service(ctx, s.name, s.address) }})
		}
	}
	return all
}

func (x *examination) service(ctx context.Context, name, address string) []Finding {
	caller := suite.TargetGateway
	conn, signed, err := x.dial(caller, name, address)
	if err != nil {
		return failed(fmt.Sprintf("correct services.%s, tls.* or the identity key", suite.Setting(name)), "%v", err)
	}
	defer conn.Close()
	health, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch {
	case err != nil:
		return failed(fmt.Sprintf("start it, or correct services.%s; with TLS on one side only, set tls.* on both", suite.Setting(name)), "%s does not answer: %s", address, said(err))
	case health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
		return failed("see its log", "%s answers that it is %s", address, health.GetStatus())
	case !signed:
		return warning("see the identity key", "%s answers; without an identity key calls to it could not be tried", address)
	}
	ctx = auth.NewContext(ctx, auth.ServicePrincipal(caller))
	if name == suite.TargetOrchestrator {
		_, err = orchestratorv1.NewAccountServiceClient(conn).ListModels(ctx, &orchestratorv1.ListModelsRequest{})
	} else {
		_, err = toolv1.NewToolProviderServiceClient(conn).ListTools(ctx, &toolv1.ListToolsRequest{})
	}
	switch status.Code(err) {
	case codes.OK:
		return ok("%s serves and takes our identity", address)
	case codes.Unauthenticated:
		return failed("give both processes the same identity key, and see that both clocks are right", "%s refuses our identity: %s", address, said(err))
	case codes.Unimplemented:
		return failed(fmt.Sprintf("correct services.%s: the process there must serve %s, in this version", name, name), "%s answers, but is no %s: %s", address, name, said(err))
	}
	return failed("see its log", "%s answers, but a call to it fails: %s", address, said(err))
}

// providers are the tool providers of others.
func (x *examination) providers() []check {
	var all []check
	for i, p := range x.cfg.Providers {
		all = append(all, check{"provider " + p.Name, func(ctx context.Context) []Finding {
			conn, _, err := x.dial(suite.TargetOrchestrator, "provider:"+p.Name, p.Address)
			if err != nil {
				return failed(fmt.Sprintf("correct providers[%d].address", i), "%v", err)
			}
			defer conn.Close()
			ctx = auth.NewContext(ctx, auth.ServicePrincipal(suite.TargetOrchestrator))
			tools, err := toolv1.NewToolProviderServiceClient(conn).ListTools(ctx, &toolv1.ListToolsRequest{})
			if err != nil {
				return failed(fmt.Sprintf("start it, or correct providers[%d].address", i), "%s does not list its tools: %s", p.Address, said(err))
			}
			if len(tools.GetTools()) == 0 {
				return warning("see its configuration", "%s answers, but has no tools", p.Address)
			}
			return ok("%s has %d tools", p.Address, len(tools.GetTools()))
		}})
	}
	return all
}

// dial connects as a service of ours would; signed says whether its calls carry
// an identity, which they do as soon as there is a key.
func (x *examination) dial(from, audience, address string) (conn *grpc.ClientConn, signed bool, err error) {
	cfg := rpc.DialConfig{TLS: x.cfg.TLS.RPC()}
	key, err := auth.LoadKey(x.cfg.IdentityKeyFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, false, err
	default:
		if cfg.Signer, err = auth.NewSigner(key, from); err != nil {
			return nil, false, err
		}
		cfg.Audience = audience
	}
	conn, err = rpc.Dial(address, cfg)
	return conn, cfg.Signer != nil, err
}

// said are the words of a failed call.
func said(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}
