package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/gateway"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// goodToken is the token of user u1 in these tests.
const goodToken = "nc_good"

// backend is a gRPC server whose methods a test sets.
type backend struct {
	orchestratorv1.UnimplementedConversationServiceServer
	orchestratorv1.UnimplementedRunServiceServer
	orchestratorv1.UnimplementedToolServiceServer
	orchestratorv1.UnimplementedIdentityServiceServer
	orchestratorv1.UnimplementedAccountServiceServer
	searchv1.UnimplementedSearchServiceServer
	fetcherv1.UnimplementedFetcherServiceServer

	exchange func(context.Context, *orchestratorv1.ExchangeRequest) (*orchestratorv1.ExchangeResponse, error)
	create   func(context.Context, *orchestratorv1.CreateConversationRequest) (*orchestratorv1.Conversation, error)
	send     func(context.Context, *orchestratorv1.SendMessageRequest) (*orchestratorv1.Message, error)
	stream   func(*orchestratorv1.StreamMessageRequest, grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error
	watch    func(*orchestratorv1.WatchRunRequest, grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error

	workspaces sandboxv1.WorkspaceServiceServer

	health *health.Server

	mu    sync.Mutex
	calls []call
}

// call is what a call brought along.
type call struct {
	method string
	md     metadata.MD
}

func (b *backend) CreateConversation(ctx context.Context, r *orchestratorv1.CreateConversationRequest) (*orchestratorv1.CreateConversationResponse, error) {
	if b.create == nil {
		return &orchestratorv1.CreateConversationResponse{Conversation: &orchestratorv1.Conversation{Id: "c1"}}, nil
	}
	c, err := b.create(ctx, r)
	if err != nil {
		return nil, err
	}
	return &orchestratorv1.CreateConversationResponse{Conversation: c}, nil
}

func (b *backend) Exchange(ctx context.Context, r *orchestratorv1.ExchangeRequest) (*orchestratorv1.ExchangeResponse, error) {
	return b.exchange(ctx, r)
}

func (b *backend) DeleteConversation(context.Context, *orchestratorv1.DeleteConversationRequest) (*orchestratorv1.DeleteConversationResponse, error) {
	return &orchestratorv1.DeleteConversationResponse{}, nil
}

func (b *backend) ListConversations(_ context.Context, r *orchestratorv1.ListConversationsRequest) (*orchestratorv1.ListConversationsResponse, error) {
	res := &orchestratorv1.ListConversationsResponse{}
	if r.GetLimit() > 0 {
		res.NextCursor, res.HasMore = r.GetCursor(), true
	}
	return res, nil
}

func (b *backend) SendMessage(ctx context.Context, r *orchestratorv1.SendMessageRequest) (*orchestratorv1.SendMessageResponse, error) {
	m, err := b.send(ctx, r)
	if err != nil {
		return nil, err
	}
	return &orchestratorv1.SendMessageResponse{Message: m}, nil
}

func (b *backend) StreamMessage(r *orchestratorv1.StreamMessageRequest, s grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
	if b.stream == nil {
		return s.Send(doneEvent(1))
	}
	return b.stream(r, s)
}

func (b *backend) RegenerateMessage(_ *orchestratorv1.RegenerateMessageRequest, s grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
	return s.Send(doneEvent(1))
}

func (b *backend) Chat(_ context.Context, r *orchestratorv1.ChatRequest) (*orchestratorv1.ChatResponse, error) {
	return &orchestratorv1.ChatResponse{Reply: "<" + r.GetMessage() + ">", ConversationId: "c1"}, nil
}

func (b *backend) CancelRun(_ context.Context, r *orchestratorv1.CancelRunRequest) (*orchestratorv1.CancelRunResponse, error) {
	return &orchestratorv1.CancelRunResponse{Run: &orchestratorv1.Run{Id: r.GetRunId(), Status: "cancelled"}}, nil
}

func (b *backend) WatchRun(r *orchestratorv1.WatchRunRequest, s grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
	if b.watch == nil {
		return s.Send(doneEvent(1))
	}
	return b.watch(r, s)
}

func (b *backend) Search(_ context.Context, r *searchv1.SearchRequest) (*searchv1.SearchResponse, error) {
	if r.GetQuery() == "panic" {
		return nil, rpcerr.New(codes.Internal, "", "dial tcp 10.0.0.7:3001: secret")
	}
	return &searchv1.SearchResponse{}, nil
}

func (b *backend) note(ctx context.Context, method string) {
	md, _ := metadata.FromIncomingContext(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, call{method, md})
}

// lastCall waits for nothing: the call is noted before it is answered.
func (b *backend) lastCall(t *testing.T) call {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.calls) == 0 {
		t.Fatal("no call reached the services")
	}
	return b.calls[len(b.calls)-1]
}

func (b *backend) callCount() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.calls)
}

// start serves b and answers a connection that sends the principal on, as the
// platform's does.
func (b *backend) start(t testing.TB) grpc.ClientConnInterface {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	srv := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			b.note(ctx, info.FullMethod)
			return h(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			b.note(s.Context(), info.FullMethod)
			return h(srv, s)
		}))
	orchestratorv1.RegisterConversationServiceServer(srv, b)
	orchestratorv1.RegisterRunServiceServer(srv, b)
	orchestratorv1.RegisterToolServiceServer(srv, b)
	orchestratorv1.RegisterIdentityServiceServer(srv, b)
	orchestratorv1.RegisterAccountServiceServer(srv, b)
	searchv1.RegisterSearchServiceServer(srv, b)
	fetcherv1.RegisterFetcherServiceServer(srv, b)
	if b.workspaces == nil {
		b.workspaces = sandboxv1.UnimplementedWorkspaceServiceServer{}
	}
	sandboxv1.RegisterWorkspaceServiceServer(srv, b.workspaces)
	b.health = health.NewServer()
	grpc_health_v1.RegisterHealthServer(srv, b.health)
	go func() { _ = srv.Serve(listener) }()
	identify := func(ctx context.Context) context.Context {
		if p, ok := auth.FromContext(ctx); ok {
			for k, v := range auth.ToMetadata(p) {
				ctx = metadata.AppendToOutgoingContext(ctx, k, v[0])
			}
		}
		return ctx
	}
	conn, err := grpc.NewClient("passthrough:///backend",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithUnaryInterceptor(func(ctx context.Context, m string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, o ...grpc.CallOption) error {
			return next(identify(ctx), m, req, reply, cc, o...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, m string, next grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
			return next(identify(ctx), d, cc, m, o...)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); srv.Stop() })
	return conn
}

// fixture is a gateway before a backend.
type fixture struct {
	*backend
	gw  *gateway.Gateway
	url string
	log *syncBuffer
}

type option func(*gateway.Config, *gateway.Deps)

func newFixture(t testing.TB, b *backend, opts ...option) *fixture {
	t.Helper()
	if b == nil {
		b = &backend{}
	}
	log := &syncBuffer{}
	cfg := gateway.DefaultConfig()
	deps := gateway.Deps{
		Conn:   b.start(t),
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Tokens: auth.NewTokenCache(exchange),
	}
	for _, o := range opts {
		o(&cfg, &deps)
	}
	gw, err := gateway.New(t.Context(), cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(gw.Handler())
	t.Cleanup(func() { gw.Drain(); srv.Close(); http.DefaultClient.CloseIdleConnections() })
	return &fixture{backend: b, gw: gw, url: srv.URL, log: log}
}

// syncBuffer is a log that many goroutines write.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func exchange(_ context.Context, token string) (auth.Principal, error) {
	switch token {
	case goodToken:
		p := auth.UserPrincipal("u1", auth.ScopeAll)
		p.TokenID = "t1"
		return p, nil
	case "nc_down":
		return auth.Principal{}, rpcerr.New(codes.Unavailable, "IDENTITY_UNAVAILABLE", "tokens cannot be checked").WithRetry(time.Second)
	}
	return auth.Principal{}, rpcerr.New(codes.Unauthenticated, "UNAUTHENTICATED", "no such token")
}

// request builds a request with a token and, for a body, its content type.
func (f *fixture) request(t testing.TB, method, path, body string) *http.Request {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, f.url+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+goodToken)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// reply is an answer that was read whole.
type reply struct {
	*http.Response
	body string
}

func do(t testing.TB, r *http.Request) reply {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res, string(b)}
}

// failure is the envelope of an error.
type failure struct {
	Code    int     `json:"code"`
	Message string  `json:"message"`
	Reason  string  `json:"reason"`
	TraceID *string `json:"trace_id"`
	Details *[]struct {
		Field       string `json:"field"`
		Description string `json:"description"`
	} `json:"details"`
}

// mustFail checks that an answer is a whole error envelope of a status and
// reason.
func mustFail(t testing.TB, r reply, status int, reason string) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal([]byte(r.body), &f); err != nil {
		t.Fatalf("%d %q is no envelope: %v", r.StatusCode, r.body, err)
	}
	if r.StatusCode != status || f.Code != status || f.Reason != reason {
		t.Fatalf("answer = %d %s, want %d %s", r.StatusCode, r.body, status, reason)
	}
	if f.Message == "" || f.TraceID == nil || f.Details == nil {
		t.Fatalf("envelope lacks a member: %s", r.body)
	}
	if ct := r.Header.Get("Content-Type"); ct != "application/json" {
		t.Fatalf("Content-Type of an error = %q", ct)
	}
	return f
}

func doneEvent(seq int32) *orchestratorv1.RunEvent {
	return &orchestratorv1.RunEvent{Seq: seq, Event: &orchestratorv1.RunEvent_Done{Done: &orchestratorv1.Done{
		MessageId: "m1", Model: "glm-5", FinishReason: "stop", RunId: "r1",
	}}}
}

func startedEvent(seq int32) *orchestratorv1.RunEvent {
	return &orchestratorv1.RunEvent{Seq: seq, Event: &orchestratorv1.RunEvent_RunStarted{RunStarted: &orchestratorv1.RunStarted{RunId: "r1"}}}
}

func textEvent(seq int32, content string, offset int32) *orchestratorv1.RunEvent {
	return &orchestratorv1.RunEvent{Seq: seq, Event: &orchestratorv1.RunEvent_Message{Message: &orchestratorv1.TextPiece{
		Content: content, Round: 1, Offset: offset,
	}}}
}
