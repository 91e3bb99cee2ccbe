package rpc_test

import (
	"context"
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// exchange knows three tokens.
func exchange(_ context.Context, token string) (auth.Principal, error) {
	switch token {
	case "nc_all":
		return auth.Principal{Kind: auth.KindUser, UserID: "u1", TokenID: "t1", Scopes: []string{"*"}}, nil
	case "nc_search":
		return auth.UserPrincipal("u2", "search"), nil
	case "nc_odd": // an identity service gone wrong must not make services
		return auth.ServicePrincipal("gateway"), nil
	case "nc_down":
		return auth.Principal{}, errors.New("database is locked")
	}
	return auth.Principal{}, rpcerr.NotFound("token", "")
}

func withExchange(c *rpc.ServerConfig) { c.Tokens = auth.NewTokenCache(exchange) }

const (
	wantChat    = "/nanoclaw.orchestrator.v1.RunService/GetRun"        // USER, scope chat
	wantAny     = "/nanoclaw.tool.v1.ToolProviderService/ListTools"    // USER, no scope
	wantService = "/nanoclaw.orchestrator.v1.IdentityService/Exchange" // SERVICE
)

func call(ctx context.Context, conn *grpc.ClientConn, method string) error {
	switch method {
	case wantChat:
		return getRun(ctx, conn)
	case wantAny:
		_, err := toolv1.NewToolProviderServiceClient(conn).ListTools(ctx, &toolv1.ListToolsRequest{})
		return err
	case wantService:
		_, err := orchestratorv1.NewIdentityServiceClient(conn).Exchange(ctx, &orchestratorv1.ExchangeRequest{Token: "nc_x"})
		return err
	}
	return errors.New("no such method: " + method)
}

func TestInProcessCallers(t *testing.T) {
	for _, tc := range []struct {
		name      string
		principal *auth.Principal
		method    string
		code      codes.Code
		reason    string
	}{
		{"a user with the scope", new(auth.UserPrincipal("u1", "chat")), wantChat, codes.OK, ""},
		{"a user with the star", new(auth.UserPrincipal("u1", "*")), wantChat, codes.OK, ""},
		{"a user without the scope", new(auth.UserPrincipal("u1", "search")), wantChat, codes.PermissionDenied, rpc.ReasonScopeMissing},
		{"a user without scopes where none is asked", new(auth.UserPrincipal("u1")), wantAny, codes.OK, ""},
		{"a user at a method for services", new(auth.UserPrincipal("u1", "*")), wantService, codes.PermissionDenied, rpc.ReasonServiceOnly},
		{"a service at a method for services", new(auth.ServicePrincipal("gateway")), wantService, codes.OK, ""},
		{"a service at a method for users", new(auth.ServicePrincipal("gateway")), wantChat, codes.OK, ""},
		{"nobody", nil, wantAny, codes.Unauthenticated, auth.ReasonUnauthenticated},
		{"nobody at a method for services", nil, wantService, codes.Unauthenticated, auth.ReasonUnauthenticated},
		{"a principal that makes no sense", &auth.Principal{Kind: "root"}, wantAny, codes.Unauthenticated, auth.ReasonUnauthenticated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var seen auth.Principal
			r := start(t, &handlers{unary: func(ctx context.Context) (err error) { seen, err = auth.Require(ctx); return err }}, withExchange)
			ctx := t.Context()
			if tc.principal != nil {
				ctx = auth.NewContext(ctx, *tc.principal)
			}
			requireStatus(t, call(ctx, r.inside(), tc.method), tc.code, tc.reason)
			if tc.code == codes.OK && !reflect.DeepEqual(seen, *tc.principal) {
				t.Errorf("the handler saw %+v, want %+v", seen, *tc.principal)
			}
		})
	}
}

func TestCallersFromOutside(t *testing.T) {
	spoof := []string{"x-nanoclaw-kind", "service", "x-nanoclaw-service", "gateway", "x-nanoclaw-scopes", "*", "x-nanoclaw-user", "u9"}
	bearer := func(token string) []string { return []string{"authorization", "Bearer " + token} }
	for _, tc := range []struct {
		name     string
		metadata []string
		method   string
		code     codes.Code
		reason   string
		user     string
	}{
		{"a good token", bearer("nc_all"), wantChat, codes.OK, "", "u1"},
		{"the scheme in any case, more blanks", []string{"authorization", "bearer   nc_all"}, wantChat, codes.OK, "", "u1"},
		{"a token without the scope", bearer("nc_search"), wantChat, codes.PermissionDenied, rpc.ReasonScopeMissing, ""},
		{"a token without the scope where none is asked", bearer("nc_search"), wantAny, codes.OK, "", "u2"},
		{"a user's token at a method for services", bearer("nc_all"), wantService, codes.PermissionDenied, rpc.ReasonServiceOnly, ""},
		{"an unknown token", bearer("nc_guess"), wantAny, codes.Unauthenticated, auth.ReasonUnauthenticated, ""},
		{"no token", nil, wantAny, codes.Unauthenticated, auth.ReasonUnauthenticated, ""},
		{"a spoofed service and no token", spoof, wantService, codes.Unauthenticated, auth.ReasonUnauthenticated, ""},
		{"a spoofed user beside a token stays the token's user", append(bearer("nc_search"), spoof...), wantAny, codes.OK, "", "u2"},
		{"a spoofed service beside a token gains nothing", append(bearer("nc_all"), spoof...), wantService, codes.PermissionDenied, rpc.ReasonServiceOnly, ""},
		{"another scheme", []string{"authorization", "Basic nc_all"}, wantAny, codes.Unauthenticated, auth.ReasonUnauthenticated, ""},
		{"a token without a scheme", []string{"authorization", "nc_all"}, wantAny, codes.Unauthenticated, auth.ReasonUnauthenticated, ""},
		{"two tokens", append(bearer("nc_all"), bearer("nc_all")...), wantAny, codes.Unauthenticated, auth.ReasonUnauthenticated, ""},
		{"something that is no token of ours", bearer("sk-123"), wantAny, codes.Unauthenticated, auth.ReasonUnauthenticated, ""},
		{"a token of a kilobyte", bearer("nc_" + strings.Repeat("x", 1024)), wantAny, codes.Unauthenticated, auth.ReasonUnauthenticated, ""},
		{"a token that the identity service calls a service", bearer("nc_odd"), wantAny, codes.Internal, "INTERNAL", ""},
		{"an identity service that is down", bearer("nc_down"), wantAny, codes.Unavailable, auth.ReasonIdentityUnavailable, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var seen auth.Principal
			r := start(t, &handlers{unary: func(ctx context.Context) (err error) { seen, err = auth.Require(ctx); return err }}, withExchange)
			err := call(with(t, tc.metadata...), r.stranger(), tc.method)
			requireStatus(t, err, tc.code, tc.reason)
			if seen.UserID != tc.user {
				t.Errorf("the handler saw %+v, want user %q", seen, tc.user)
			}
			if err != nil && (strings.Contains(err.Error(), "nc_guess") || strings.Contains(err.Error(), "locked")) {
				t.Errorf("the caller sees too much: %v", err)
			}
		})
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	r := start(t, &handlers{}, withExchange)
	err := call(t.Context(), r.stranger(), wantAny)
	if want := `send the header "authorization: Bearer nc_..."`; !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q in it", err, want)
	}
	err = call(with(t, "authorization", "Bearer nc_search"), r.stranger(), wantChat)
	if want := `scope "chat"; yours has: search`; !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q in it", err, want)
	}
}

func TestStreamsAreGuardedLikeUnaryCalls(t *testing.T) {
	r := start(t, &handlers{watch: func(s grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
		p, err := auth.Require(s.Context())
		if err != nil {
			return err
		}
		return s.Send(&orchestratorv1.RunEvent{Event: &orchestratorv1.RunEvent_RunStarted{RunStarted: &orchestratorv1.RunStarted{RunId: p.UserID}}})
	}}, withExchange)
	watch := func(ctx context.Context, conn *grpc.ClientConn) (*orchestratorv1.RunEvent, error) {
		stream, err := orchestratorv1.NewRunServiceClient(conn).WatchRun(ctx, &orchestratorv1.WatchRunRequest{RunId: "r1"})
		if err != nil {
			return nil, err
		}
		return stream.Recv()
	}
	_, err := watch(t.Context(), r.stranger())
	requireStatus(t, err, codes.Unauthenticated, auth.ReasonUnauthenticated)
	_, err = watch(with(t, "authorization", "Bearer nc_search"), r.stranger())
	requireStatus(t, err, codes.PermissionDenied, rpc.ReasonScopeMissing)
	for name, event := range map[string]func() (*orchestratorv1.RunEvent, error){
		"from outside": func() (*orchestratorv1.RunEvent, error) {
			return watch(with(t, "authorization", "Bearer nc_all"), r.stranger())
		},
		"inside": func() (*orchestratorv1.RunEvent, error) { return watch(as(t, user), r.inside()) },
	} {
		if got, err := event(); err != nil || got.GetRunStarted().GetRunId() != "u1" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestServerWithoutExchangeLetsNobodyIn(t *testing.T) {
	r := start(t, &handlers{}, nil)
	requireStatus(t, call(with(t, "authorization", "Bearer nc_all"), r.stranger(), wantAny), codes.Unauthenticated, auth.ReasonUnauthenticated)
}

func TestHealthNeedsNoIdentity(t *testing.T) {
	r := start(t, &handlers{}, nil)
	for _, service := range []string{"", "nanoclaw.orchestrator.v1.RunService"} {
		got, err := healthpb.NewHealthClient(r.stranger()).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || got.Status != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q = %v, %v", service, got, err)
		}
	}
	r.SetServing("nanoclaw.orchestrator.v1.RunService", false)
	got, err := healthpb.NewHealthClient(r.stranger()).Check(t.Context(), &healthpb.HealthCheckRequest{Service: "nanoclaw.orchestrator.v1.RunService"})
	if err != nil || got.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health of a service taken out = %v, %v", got, err)
	}
}

// An in-process client drops identity that a gateway carried along from
// outside.
func TestInProcessClientSpeaksOnlyForItsContext(t *testing.T) {
	var seen auth.Principal
	var md metadata.MD
	r := start(t, &handlers{unary: func(ctx context.Context) (err error) {
		md, _ = metadata.FromIncomingContext(ctx)
		seen, err = auth.Require(ctx)
		return err
	}}, nil)
	carried := []string{"x-nanoclaw-kind", "service", "x-nanoclaw-service", "gateway", "x-nanoclaw-anything", "1", "authorization", "Bearer nc_all", "x-other", "kept"}

	requireStatus(t, call(with(t, carried...), r.inside(), wantAny), codes.Unauthenticated, auth.ReasonUnauthenticated)

	ctx := auth.NewContext(with(t, carried...), auth.UserPrincipal("u1"))
	if err := call(ctx, r.inside(), wantAny); err != nil {
		t.Fatal(err)
	}
	if seen.UserID != "u1" || seen.Kind != auth.KindUser || seen.Service != "" {
		t.Errorf("the handler saw %+v", seen)
	}
	if len(md["authorization"]) != 0 || len(md["x-nanoclaw-anything"]) != 0 || len(md["x-other"]) != 1 {
		t.Errorf("metadata = %v", md)
	}
}

func TestAnonymousIsForLoopbackOnly(t *testing.T) {
	anonymous := auth.UserPrincipal("local", "*")
	var seen auth.Principal
	r := start(t, &handlers{unary: func(ctx context.Context) (err error) { seen, err = auth.Require(ctx); return err }},
		func(c *rpc.ServerConfig) { c.AnonymousPrincipal, c.Tokens = &anonymous, auth.NewTokenCache(exchange) })
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.ServeTCP(lis) }()
	stop := r.stop
	r.stop = func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("ServeTCP = %v", err)
		}
	}
	conn, err := rpc.Dial(lis.Addr().String(), rpc.DialConfig{})
	r.keep(conn, err)
	if err := call(t.Context(), conn, wantChat); err != nil || seen.UserID != "local" {
		t.Errorf("no token on loopback: %+v, %v", seen, err)
	}
	requireStatus(t, call(t.Context(), conn, wantService), codes.PermissionDenied, rpc.ReasonServiceOnly)
	requireStatus(t, call(with(t, "authorization", "Bearer nc_guess"), conn, wantAny), codes.Unauthenticated, auth.ReasonUnauthenticated)
	if err := call(with(t, "authorization", "Bearer nc_search"), conn, wantAny); err != nil || seen.UserID != "u2" {
		t.Errorf("a token still counts: %+v, %v", seen, err)
	}

	// A listener that claims loopback but brings callers from elsewhere.
	requireStatus(t, call(t.Context(), dialVia(t, r, &claimsLoopback{newPipeListener()}), wantAny), codes.Unauthenticated, auth.ReasonUnauthenticated)

	for _, addr := range []net.Addr{&net.TCPAddr{IP: net.IPv4zero, Port: 3001}, &net.TCPAddr{IP: net.ParseIP("192.0.2.1"), Port: 3001}, pipeAddr{}} {
		l := &listenerAt{newPipeListener(), addr}
		if err := r.ServeTCP(l); err == nil || !strings.Contains(err.Error(), "only a loopback address") {
			t.Errorf("ServeTCP on %s = %v, want a refusal", addr, err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the refused listener on %s is still open", addr)
		}
	}
}

type listenerAt struct {
	*pipeListener
	addr net.Addr
}

func (l *listenerAt) Addr() net.Addr { return l.addr }

type claimsLoopback struct{ *pipeListener }

func (*claimsLoopback) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func dialVia(t *testing.T, r *running, l *claimsLoopback) *grpc.ClientConn {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- r.ServeTCP(l) }()
	stop := r.stop
	r.stop = func() { stop(); <-served }
	return r.strangerAt(l.pipeListener)
}

func TestPanicOfTheExchangeDoesNotEndTheProcess(t *testing.T) {
	var log lines
	r := start(t, &handlers{}, func(c *rpc.ServerConfig) {
		c.Logger = log.logger()
		c.Tokens = auth.NewTokenCache(func(context.Context, string) (auth.Principal, error) { panic("nil map") })
	})
	requireStatus(t, call(with(t, "authorization", "Bearer nc_all"), r.stranger(), wantChat), codes.Internal, "INTERNAL")
	if !strings.Contains(log.String(), "nil map") {
		t.Errorf("the panic is not in the log:\n%s", log.String())
	}
	if strings.Contains(log.String(), "nc_all") {
		t.Errorf("the token is in the log:\n%s", log.String())
	}
}
