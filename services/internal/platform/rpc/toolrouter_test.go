package rpc_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
)

// provider offers one tool and notes what was asked of it.
type provider struct {
	toolv1.UnimplementedToolProviderServiceServer
	tool string

	mu  sync.Mutex
	got []string
}

func (p *provider) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, what)
}

func (p *provider) ListTools(context.Context, *toolv1.ListToolsRequest) (*toolv1.ListToolsResponse, error) {
	p.note("list")
	return &toolv1.ListToolsResponse{Tools: []*toolv1.Tool{{Name: p.tool}}}, nil
}

func (p *provider) CallTool(_ *toolv1.CallToolRequest, stream grpc.ServerStreamingServer[toolv1.CallToolResponse]) error {
	p.note("call")
	return stream.Send(&toolv1.CallToolResponse{})
}

func (p *provider) GetCall(context.Context, *toolv1.GetCallRequest) (*toolv1.GetCallResponse, error) {
	p.note("get")
	return &toolv1.GetCallResponse{}, nil
}

func (p *provider) CancelCall(context.Context, *toolv1.CancelCallRequest) (*toolv1.CancelCallResponse, error) {
	p.note("cancel")
	return &toolv1.CancelCallResponse{}, nil
}

// serveTools serves the providers behind a router on TCP.
func serveTools(t *testing.T, providers map[string]*provider) (*running, string) {
	t.Helper()
	cfg := rpc.DefaultServerConfig()
	configured(believes(t, 'a', "search", "fetcher", "orchestrator"), withExchange)(&cfg)
	s, err := rpc.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	router := rpc.NewToolRouter()
	for name, p := range providers {
		toolv1.RegisterToolProviderServiceServer(router.Provider(name), p)
	}
	toolv1.RegisterToolProviderServiceServer(s, router)
	r := &running{Server: s, t: t}
	r.stop = func() {
		for _, c := range r.conns {
			c.Close()
		}
		_ = s.Drain(cancelled())
	}
	addr := serveTCP(t, r)
	t.Cleanup(func() { r.stop() })
	if err := s.SetReady(); err != nil {
		t.Fatal(err)
	}
	return r, addr
}

func TestToolsOfSeveralServicesAtOneAddress(t *testing.T) {
	search, fetcher := &provider{tool: "web_search"}, &provider{tool: "fetch_page"}
	r, addr := serveTools(t, map[string]*provider{"search": search, "fetcher": fetcher})
	client := func(audience string) toolv1.ToolProviderServiceClient {
		return toolv1.NewToolProviderServiceClient(r.dialSigned(addr, signerOf(t, 'a', "orchestrator"), audience))
	}
	ctx := as(t, auth.UserPrincipal("u1", "*"))
	for audience, want := range map[string]string{"search": "web_search", "fetcher": "fetch_page"} {
		got, err := client(audience).ListTools(ctx, &toolv1.ListToolsRequest{})
		if err != nil || len(got.GetTools()) != 1 || got.GetTools()[0].GetName() != want {
			t.Errorf("tools of %s = %v, %v; want %s", audience, got, err, want)
		}
	}
	_, err := client("orchestrator").ListTools(ctx, &toolv1.ListToolsRequest{})
	requireStatus(t, err, codes.NotFound, rpc.ReasonProviderUnknown)

	token, err := rpc.Dial(addr, rpc.DialConfig{Token: "nc_all"})
	r.keep(token, err)
	_, err = toolv1.NewToolProviderServiceClient(token).ListTools(t.Context(), &toolv1.ListToolsRequest{})
	requireStatus(t, err, codes.NotFound, rpc.ReasonProviderUnknown)
}

func TestOnlyProviderNeedsNoName(t *testing.T) {
	search := &provider{tool: "web_search"}
	r, addr := serveTools(t, map[string]*provider{"search": search})
	conn, err := rpc.Dial(addr, rpc.DialConfig{Token: "nc_all"})
	client := toolv1.NewToolProviderServiceClient(r.keep(conn, err))
	if got, err := client.ListTools(t.Context(), &toolv1.ListToolsRequest{}); err != nil || got.GetTools()[0].GetName() != "web_search" {
		t.Errorf("ListTools = %v, %v", got, err)
	}
	stream, err := client.CallTool(t.Context(), &toolv1.CallToolRequest{Name: "web_search", ArgumentsJson: "{}", EffectKey: "k1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
	if _, err := client.GetCall(t.Context(), &toolv1.GetCallRequest{Name: "web_search", EffectKey: "k1"}); err != nil {
		t.Error(err)
	}
	if _, err := client.CancelCall(t.Context(), &toolv1.CancelCallRequest{Name: "web_search", EffectKey: "k1"}); err != nil {
		t.Error(err)
	}
	if want := []string{"list", "call", "get", "cancel"}; !slices.Equal(search.got, want) {
		t.Errorf("the provider got %v, want %v", search.got, want)
	}
}

func TestRouterWithoutProviders(t *testing.T) {
	r, addr := serveTools(t, nil)
	_, err := toolv1.NewToolProviderServiceClient(r.dialSigned(addr, signerOf(t, 'a', "orchestrator"), "search")).
		ListTools(as(t, user), &toolv1.ListToolsRequest{})
	requireStatus(t, err, codes.NotFound, rpc.ReasonProviderUnknown)
}

func TestRouterTakesEachProviderOnceAndNothingElse(t *testing.T) {
	router := rpc.NewToolRouter()
	toolv1.RegisterToolProviderServiceServer(router.Provider("search"), &provider{})
	for name, register := range map[string]func(){
		"the same twice":   func() { toolv1.RegisterToolProviderServiceServer(router.Provider("search"), &provider{}) },
		"another contract": func() { orchestratorv1.RegisterRunServiceServer(router.Provider("runs"), &handlers{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was taken", name)
				}
			}()
			register()
		}()
	}
}
