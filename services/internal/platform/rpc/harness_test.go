package rpc_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlers serve a few real contracts; what they do is up to the test.
type handlers struct {
	orchestratorv1.UnimplementedIdentityServiceServer
	orchestratorv1.UnimplementedRunServiceServer
	tools

	unary func(ctx context.Context) error
	watch func(stream grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error
}

// tools apart, since its ListTools is another one.
type tools struct {
	toolv1.UnimplementedToolProviderServiceServer
}

func (h *handlers) Exchange(ctx context.Context, _ *orchestratorv1.ExchangeRequest) (*orchestratorv1.ExchangeResponse, error) {
	return &orchestratorv1.ExchangeResponse{}, h.do(ctx)
}

func (h *handlers) CreateToken(ctx context.Context, _ *orchestratorv1.CreateTokenRequest) (*orchestratorv1.CreateTokenResponse, error) {
	return &orchestratorv1.CreateTokenResponse{}, h.do(ctx)
}

func (h *handlers) GetRun(ctx context.Context, _ *orchestratorv1.GetRunRequest) (*orchestratorv1.GetRunResponse, error) {
	return &orchestratorv1.GetRunResponse{}, h.do(ctx)
}

func (h *handlers) WatchRun(_ *orchestratorv1.WatchRunRequest, stream grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
	return h.watch(stream)
}

func (h *handlers) ListTools(ctx context.Context, _ *toolv1.ListToolsRequest) (*toolv1.ListToolsResponse, error) {
	return &toolv1.ListToolsResponse{}, h.do(ctx)
}

func (h *handlers) do(ctx context.Context) error {
	if h.unary == nil {
		return nil
	}
	return h.unary(ctx)
}

// start serves h in process and on a pipe that stands for the outside, until
// the test ends.
func start(t *testing.T, h *handlers, change func(*rpc.ServerConfig)) *running {
	t.Helper()
	cfg := rpc.DefaultServerConfig()
	if change != nil {
		change(&cfg)
	}
	s, err := rpc.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	orchestratorv1.RegisterIdentityServiceServer(s, h)
	orchestratorv1.RegisterRunServiceServer(s, h)
	toolv1.RegisterToolProviderServiceServer(s, h)
	if err := s.SetReady(); err != nil {
		t.Fatal(err)
	}
	r := &running{Server: s, t: t, outside: newPipeListener()}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.ServeInProcess(); err != nil {
			t.Error(err)
		}
	})
	serving.Go(func() {
		if err := s.ServeTCP(r.outside); err != nil && cfg.AnonymousPrincipal == nil {
			t.Error(err)
		}
	})
	r.stop = func() {
		for _, c := range r.conns {
			c.Close()
		}
		_ = s.Drain(cancelled())
		serving.Wait()
	}
	t.Cleanup(func() { r.stop() })
	return r
}

type running struct {
	*rpc.Server
	t       *testing.T
	outside *pipeListener
	conns   []*grpc.ClientConn
	stop    func()
}

// inside is a connection as our services have it.
func (r *running) inside() *grpc.ClientConn {
	r.t.Helper()
	conn, err := r.DialInProcess(rpc.DialConfig{})
	return r.keep(conn, err)
}

// stranger is a bare gRPC client from outside: what it sends is up to the test.
func (r *running) stranger() *grpc.ClientConn { return r.strangerAt(r.outside) }

func (r *running) strangerAt(l *pipeListener) *grpc.ClientConn {
	r.t.Helper()
	conn, err := grpc.NewClient("passthrough:///pipe", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.dial(ctx) }))
	return r.keep(conn, err)
}

func (r *running) keep(conn *grpc.ClientConn, err error) *grpc.ClientConn {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	r.conns = append(r.conns, conn)
	return conn
}

// pipeListener is a listener without a network, so that synctest can tell when
// everything rests; its peers are not of this process as far as a server knows.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, io.ErrClosedPipe
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// as is a context whose calls are made for p.
func as(t *testing.T, p auth.Principal) context.Context { return auth.NewContext(t.Context(), p) }

// with is a context with outgoing metadata.
func with(t *testing.T, pairs ...string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), pairs...)
}

func getRun(ctx context.Context, conn *grpc.ClientConn, opts ...grpc.CallOption) error {
	_, err := orchestratorv1.NewRunServiceClient(conn).GetRun(ctx, &orchestratorv1.GetRunRequest{RunId: "r1"}, opts...)
	return err
}

// requireStatus ends the test unless err has the code and the reason.
func requireStatus(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	if status.Code(err) != code || rpcerr.Reason(err) != reason {
		t.Fatalf("got %v (reason %q), want %v with reason %q", err, rpcerr.Reason(err), code, reason)
	}
}
