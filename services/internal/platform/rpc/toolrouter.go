package rpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// ReasonProviderUnknown: no provider of tools here goes by the audience of the
// call.
const ReasonProviderUnknown = "PROVIDER_UNKNOWN"

// ToolRouter lets several services of one process offer their tools at one
// address: a call goes to the provider that its signed identity names as the
// audience ([Audience]), and, when it names none, to the only one there is.
//
//	router := rpc.NewToolRouter()
//	search.RegisterTools(router.Provider("search"))
//	toolv1.RegisterToolProviderServiceServer(server, router)
type ToolRouter struct {
	toolv1.UnimplementedToolProviderServiceServer
	mu        sync.RWMutex
	providers map[string]toolv1.ToolProviderServiceServer
}

// NewToolRouter makes a router without providers.
func NewToolRouter() *ToolRouter {
	return &ToolRouter{providers: make(map[string]toolv1.ToolProviderServiceServer)}
}

// Provider takes the registration of the ToolProviderService of the service
// name. Like grpc.Server it panics on a second registration, or one of another
// contract: that is a mistake in the program.
func (r *ToolRouter) Provider(name string) grpc.ServiceRegistrar { return &providerSlot{r, name} }

type providerSlot struct {
	router *ToolRouter
	name   string
}

func (s *providerSlot) RegisterService(desc *grpc.ServiceDesc, impl any) {
	provider, ok := impl.(toolv1.ToolProviderServiceServer)
	if !ok || desc.ServiceName != toolv1.ToolProviderService_ServiceDesc.ServiceName {
		panic(fmt.Sprintf("tool router: %s of %q is no ToolProviderService", desc.ServiceName, s.name))
	}
	s.router.mu.Lock()
	defer s.router.mu.Unlock()
	if _, taken := s.router.providers[s.name]; taken {
		panic(fmt.Sprintf("tool router: %q is registered twice", s.name))
	}
	s.router.providers[s.name] = provider
}

// of is the provider that a call is for.
func (r *ToolRouter) of(ctx context.Context) (toolv1.ToolProviderServiceServer, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	wanted := Audience(ctx)
	if p, ok := r.providers[wanted]; ok {
		return p, nil
	}
	if wanted == "" && len(r.providers) == 1 {
		for _, only := range r.providers {
			return only, nil
		}
	}
	have := orNone(slices.Sorted(maps.Keys(r.providers)))
	if wanted == "" && len(r.providers) > 0 {
		return nil, rpcerr.New(codes.NotFound, ReasonProviderUnknown,
			"several services offer tools here (%s) and the call names none as the audience of a signed identity", have)
	}
	return nil, rpcerr.New(codes.NotFound, ReasonProviderUnknown,
		"%q offers no tools in this process; these do: %s", wanted, have)
}

// ListTools is the provider's.
func (r *ToolRouter) ListTools(ctx context.Context, req *toolv1.ListToolsRequest) (*toolv1.ListToolsResponse, error) {
	p, err := r.of(ctx)
	if err != nil {
		return nil, err
	}
	return p.ListTools(ctx, req)
}

// CallTool is the provider's.
func (r *ToolRouter) CallTool(req *toolv1.CallToolRequest, stream grpc.ServerStreamingServer[toolv1.CallToolResponse]) error {
	p, err := r.of(stream.Context())
	if err != nil {
		return err
	}
	return p.CallTool(req, stream)
}

// GetCall is the provider's.
func (r *ToolRouter) GetCall(ctx context.Context, req *toolv1.GetCallRequest) (*toolv1.GetCallResponse, error) {
	p, err := r.of(ctx)
	if err != nil {
		return nil, err
	}
	return p.GetCall(ctx, req)
}

// CancelCall is the provider's.
func (r *ToolRouter) CancelCall(ctx context.Context, req *toolv1.CancelCallRequest) (*toolv1.CancelCallResponse, error) {
	p, err := r.of(ctx)
	if err != nil {
		return nil, err
	}
	return p.CancelCall(ctx, req)
}
