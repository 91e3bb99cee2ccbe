// Package tooltest serves tool providers to tests, over a real gRPC connection
// in memory.
package tooltest

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// Registrar is what can be put onto a server: a *toolkit.Provider, or [Raw].
type Registrar interface {
	Register(r grpc.ServiceRegistrar)
}

// Raw is a provider written by hand, which may break the contract.
type Raw struct {
	toolv1.UnimplementedToolProviderServiceServer

	Tools  []*toolv1.Tool
	List   func(ctx context.Context) (*toolv1.ListToolsResponse, error) // over Tools
	Call   func(req *toolv1.CallToolRequest, stream grpc.ServerStreamingServer[toolv1.CallToolResponse]) error
	State  func(req *toolv1.GetCallRequest) (*toolv1.GetCallResponse, error)
	Cancel func(req *toolv1.CancelCallRequest)
}

// Register implements Registrar.
func (r *Raw) Register(s grpc.ServiceRegistrar) { toolv1.RegisterToolProviderServiceServer(s, r) }

// ListTools implements the contract.
func (r *Raw) ListTools(ctx context.Context, _ *toolv1.ListToolsRequest) (*toolv1.ListToolsResponse, error) {
	if r.List != nil {
		return r.List(ctx)
	}
	return &toolv1.ListToolsResponse{Tools: r.Tools}, nil
}

// CallTool implements the contract.
func (r *Raw) CallTool(req *toolv1.CallToolRequest, stream grpc.ServerStreamingServer[toolv1.CallToolResponse]) error {
	return r.Call(req, stream)
}

// GetCall implements the contract.
func (r *Raw) GetCall(ctx context.Context, req *toolv1.GetCallRequest) (*toolv1.GetCallResponse, error) {
	if r.State == nil {
		return r.UnimplementedToolProviderServiceServer.GetCall(ctx, req)
	}
	return r.State(req)
}

// CancelCall implements the contract.
func (r *Raw) CancelCall(_ context.Context, req *toolv1.CancelCallRequest) (*toolv1.CancelCallResponse, error) {
	if r.Cancel != nil {
		r.Cancel(req)
	}
	return &toolv1.CancelCallResponse{}, nil
}

// Serve serves a provider until the test ends.
func Serve(t testing.TB, p Registrar) toolv1.ToolProviderServiceClient {
	t.Helper()
	return toolv1.NewToolProviderServiceClient(Conn(t, p))
}

// Conn is Serve for those who want the connection.
func Conn(t testing.TB, p Registrar) *grpc.ClientConn {
	t.Helper()
	conn, stop := Start(t, p)
	t.Cleanup(stop)
	return conn
}

// Start is Conn for those who end the provider themselves; stop may be called
// more than once.
func Start(t testing.TB, p Registrar) (conn *grpc.ClientConn, stop func()) {
	t.Helper()
	const bufferBytes = 1 << 20
	lis := bufconn.Listen(bufferBytes)
	server := grpc.NewServer()
	p.Register(server)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(lis)
	}()
	conn, err := grpc.NewClient("passthrough:///tools", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	return conn, func() {
		_ = conn.Close()
		server.Stop()
		<-served
	}
}

// Input is what the tools of tests take.
type Input struct {
	Text string `json:"text" jsonschema:"some text"`
	Top  int    `json:"top,omitempty" jsonschema:"how many"`
}

// Tool is a description to start from: it reads.
func Tool(name string) toolkit.Tool {
	return toolkit.Tool{
		Name: name, Title: "Tests", Description: "Does " + name + ".", Effect: toolkit.EffectPure, Sink: toolkit.SinkRead,
		Timeout: 5 * time.Second,
	}
}

// Run is what a tool does.
type Run func(ctx context.Context, call *toolkit.Call, in Input) (toolkit.Result, error)

// Echo answers with what it was given.
func Echo(_ context.Context, _ *toolkit.Call, in Input) (toolkit.Result, error) {
	return toolkit.JSON(map[string]any{"success": true, "text": in.Text, "top": in.Top}), nil
}

// Provider makes a provider with a key store. Fill it with [Add].
func Provider(t testing.TB) *toolkit.Provider {
	t.Helper()
	p := toolkit.New(toolkit.Config{Name: "tests", KeyStore: toolkit.NewMemoryKeyStore(toolkit.MemoryKeyStoreConfig{})})
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// Add adds a tool.
func Add(t testing.TB, p *toolkit.Provider, tool toolkit.Tool, run Run) {
	t.Helper()
	if err := toolkit.Add(p, tool, run); err != nil {
		t.Fatal(err)
	}
}
