package rpc_test

import (
	"context"
	"crypto/ed25519"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// deploymentKey is a key of its own for each letter.
func deploymentKey(letter byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(letter), ed25519.SeedSize)))
}

func signerOf(t *testing.T, letter byte, issuer string) *auth.Signer {
	t.Helper()
	s, err := auth.NewSigner(deploymentKey(letter), issuer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// believes makes a server take identities of the key for the audiences.
func believes(t *testing.T, letter byte, audiences ...string) func(*rpc.ServerConfig) {
	t.Helper()
	v, err := auth.NewVerifier(deploymentKey(letter).Public().(ed25519.PublicKey), audiences...)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *rpc.ServerConfig) { c.Verifier = v }
}

func configured(all ...func(*rpc.ServerConfig)) func(*rpc.ServerConfig) {
	return func(c *rpc.ServerConfig) {
		for _, one := range all {
			one(c)
		}
	}
}

// witness remembers what handlers saw.
type witness struct {
	principal auth.Principal
	audience  string
	metadata  metadata.MD
	calls     int
}

func (w *witness) handlers() *handlers {
	return &handlers{unary: func(ctx context.Context) (err error) {
		w.calls++
		w.audience = rpc.Audience(ctx)
		w.metadata, _ = metadata.FromIncomingContext(ctx)
		w.principal, err = auth.Require(ctx)
		return err
	}}
}

// dialSigned connects to addr as the service issuer.
func (r *running) dialSigned(addr string, signer *auth.Signer, audience string) *grpc.ClientConn {
	r.t.Helper()
	conn, err := rpc.Dial("dns:///"+addr, rpc.DialConfig{Signer: signer, Audience: audience})
	return r.keep(conn, err)
}

func TestSignedCallersOverTCP(t *testing.T) {
	var w witness
	r := start(t, w.handlers(), configured(believes(t, 'a', "search", "orchestrator"), withExchange))
	conn := r.dialSigned(serveTCP(t, r), signerOf(t, 'a', "gateway"), "orchestrator")
	for _, tc := range []struct {
		name      string
		principal *auth.Principal
		method    string
		code      codes.Code
		reason    string
	}{
		{"a user with the scope", &auth.Principal{Kind: auth.KindUser, UserID: "u1", TokenID: "t1", Scopes: []string{"chat"}}, wantChat, codes.OK, ""},
		{"a user without the scope", new(auth.UserPrincipal("u1", "search")), wantChat, codes.PermissionDenied, rpc.ReasonScopeMissing},
		{"a user at a method for services", new(auth.UserPrincipal("u1", "*")), wantService, codes.PermissionDenied, rpc.ReasonServiceOnly},
		{"a service at a method for services", new(auth.ServicePrincipal("gateway")), wantService, codes.OK, ""},
		{"nobody", nil, wantAny, codes.Unauthenticated, auth.ReasonUnauthenticated},
		{"a principal that makes no sense", &auth.Principal{Kind: "root"}, wantAny, codes.Unauthenticated, auth.ReasonUnauthenticated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx := t.Context()
			if tc.principal != nil {
				ctx = auth.NewContext(ctx, *tc.principal)
			}
			requireStatus(t, call(ctx, conn, tc.method), tc.code, tc.reason)
			if tc.code == codes.OK && (!reflect.DeepEqual(w.principal, *tc.principal) || w.audience != "orchestrator") {
				t.Errorf("the handler saw %+v for %q, want %+v", w.principal, w.audience, *tc.principal)
			}
		})
	}
}

func TestStreamsCarryTheSignedIdentity(t *testing.T) {
	r := start(t, &handlers{watch: func(s grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
		p, err := auth.Require(s.Context())
		if err != nil {
			return err
		}
		return s.Send(&orchestratorv1.RunEvent{Event: &orchestratorv1.RunEvent_RunStarted{RunStarted: &orchestratorv1.RunStarted{RunId: p.UserID + "@" + rpc.Audience(s.Context())}}})
	}}, believes(t, 'a', "orchestrator"))
	conn := r.dialSigned(serveTCP(t, r), signerOf(t, 'a', "gateway"), "orchestrator")
	stream, err := orchestratorv1.NewRunServiceClient(conn).WatchRun(as(t, user), &orchestratorv1.WatchRunRequest{RunId: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	event, err := stream.Recv()
	if err != nil || event.GetRunStarted().GetRunId() != "u1@orchestrator" {
		t.Errorf("event = %v, %v", event, err)
	}
}

func TestWrongKeyBetweenProcesses(t *testing.T) {
	var w witness
	var log lines
	r := start(t, w.handlers(), configured(believes(t, 'a', "search"), func(c *rpc.ServerConfig) { c.Logger = log.logger() }))
	conn := r.dialSigned(serveTCP(t, r), signerOf(t, 'b', "gateway"), "search")
	for range 5 {
		err := call(as(t, user), conn, wantAny)
		requireStatus(t, err, codes.Unauthenticated, auth.ReasonIdentityInvalid)
		for _, want := range []string{
			auth.Fingerprint(deploymentKey('a').Public().(ed25519.PublicKey)),
			auth.Fingerprint(deploymentKey('b').Public().(ed25519.PublicKey)),
			"auth.signing_key_file",
		} {
			if !strings.Contains(err.Error(), want) {
				t.Fatalf("error = %v, want %q in it", err, want)
			}
		}
	}
	if n := strings.Count(log.String(), "a caller's signed identity is refused"); n != 1 {
		t.Errorf("complained %d times of one peer, want once:\n%s", n, log.String())
	}
	if w.calls != 0 {
		t.Errorf("the handler ran %d times", w.calls)
	}
}

// One service's identity is of no use to another, and what a caller writes
// itself is of no use to it.
func TestIdentitiesThatAreNotForUs(t *testing.T) {
	var w witness
	r := start(t, w.handlers(), configured(believes(t, 'a', "search"), withExchange))
	sign := func(audience string, p auth.Principal) string {
		token, err := signerOf(t, 'a', "gateway").Sign(p, audience)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	own, foreign := sign("search", user), sign("fetcher", auth.ServicePrincipal("gateway"))
	for _, tc := range []struct {
		name     string
		metadata []string
		method   string
		code     codes.Code
		reason   string
	}{
		{"ours", []string{auth.IdentityHeader, own}, wantAny, codes.OK, ""},
		{"one replayed from another service", []string{auth.IdentityHeader, foreign}, wantService, codes.Unauthenticated, auth.ReasonIdentityAudience},
		{"one made up", []string{auth.IdentityHeader, "e30.e30.e30"}, wantAny, codes.Unauthenticated, auth.ReasonIdentityInvalid},
		{"an empty one", []string{auth.IdentityHeader, ""}, wantAny, codes.Unauthenticated, auth.ReasonIdentityInvalid},
		{"two", []string{auth.IdentityHeader, own, auth.IdentityHeader, own}, wantAny, codes.Unauthenticated, auth.ReasonIdentityInvalid},
		{"a bad one beside a good token", []string{auth.IdentityHeader, foreign, "authorization", "Bearer nc_all"}, wantAny, codes.Unauthenticated, auth.ReasonIdentityAudience},
		{"a user's, dressed as a service in plain words", []string{auth.IdentityHeader, own, "x-nanoclaw-kind", "service", "x-nanoclaw-service", "gateway"}, wantService, codes.PermissionDenied, rpc.ReasonServiceOnly},
		{"plain words alone", []string{"x-nanoclaw-kind", "service", "x-nanoclaw-service", "gateway"}, wantService, codes.Unauthenticated, auth.ReasonUnauthenticated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := call(with(t, tc.metadata...), r.stranger(), tc.method)
			requireStatus(t, err, tc.code, tc.reason)
			if err != nil && (strings.Contains(err.Error(), own) || strings.Contains(err.Error(), foreign)) {
				t.Errorf("the error holds the identity: %v", err)
			}
		})
	}
	t.Run("a server without the key takes none", func(t *testing.T) {
		r := start(t, w.handlers(), withExchange)
		err := call(with(t, auth.IdentityHeader, own), r.stranger(), wantAny)
		requireStatus(t, err, codes.Unauthenticated, auth.ReasonIdentityInvalid)
	})
	t.Run("in the process a signed identity says nothing", func(t *testing.T) {
		err := call(with(t, auth.IdentityHeader, own), r.inside(), wantAny)
		requireStatus(t, err, codes.Unauthenticated, auth.ReasonUnauthenticated)
	})
}

func TestSignedClientSpeaksOnlyForItsContext(t *testing.T) {
	var w witness
	r := start(t, w.handlers(), configured(believes(t, 'a', "search"), withExchange))
	conn := r.dialSigned(serveTCP(t, r), signerOf(t, 'a', "gateway"), "search")
	carried := with(t, auth.IdentityHeader, "e30.e30.e30", "authorization", "Bearer nc_all", "x-nanoclaw-kind", "service", "x-other", "kept")

	requireStatus(t, call(carried, conn, wantAny), codes.Unauthenticated, auth.ReasonUnauthenticated)

	if err := call(auth.NewContext(carried, user), conn, wantAny); err != nil {
		t.Fatal(err)
	}
	if w.principal.UserID != "u1" || len(w.metadata["authorization"]) != 0 || len(w.metadata["x-nanoclaw-kind"]) != 0 || len(w.metadata["x-other"]) != 1 {
		t.Errorf("the handler saw %+v, %v", w.principal, w.metadata)
	}
}

func TestConnectionsThatCannotSign(t *testing.T) {
	signer := signerOf(t, 'a', "gateway")
	for _, tc := range []struct {
		name string
		cfg  rpc.DialConfig
		want string
	}{
		{"a token and a signer", rpc.DialConfig{Token: "nc_all", Signer: signer, Audience: "search"}, "not both"},
		{"no audience", rpc.DialConfig{Signer: signer}, "audience"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := rpc.Dial("127.0.0.1:1", tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "127.0.0.1:1") {
				t.Errorf("Dial = %v, want %q and the target", err, tc.want)
			}
		})
	}
}

func TestIdentityInTheClearIsSaid(t *testing.T) {
	for _, tc := range []struct {
		target string
		warns  bool
	}{
		{"127.0.0.1:3001", false},
		{"dns:///localhost:3001", false},
		{"dns:///[::1]:3001", false},
		{"unix:///run/nanoclaw.sock", false},
		{"dns:///search:3001", true},
		{"192.0.2.1:3001", true},
		{"dns:///localhost.example.org:3001", true},
	} {
		t.Run(tc.target, func(t *testing.T) {
			var log lines
			conn, err := rpc.Dial(tc.target, rpc.DialConfig{Signer: signerOf(t, 'a', "gateway"), Audience: "search", Logger: log.logger()})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if warned := strings.Contains(log.String(), "without TLS"); warned != tc.warns {
				t.Errorf("warned %v, want %v: %s", warned, tc.warns, log.String())
			}
		})
	}
}

// identityService knows two tokens.
type identityService struct {
	orchestratorv1.UnimplementedIdentityServiceServer
	asked *auth.Principal
}

func (s identityService) Exchange(ctx context.Context, req *orchestratorv1.ExchangeRequest) (*orchestratorv1.ExchangeResponse, error) {
	*s.asked, _ = auth.FromContext(ctx)
	p, err := exchange(ctx, req.GetToken())
	return &orchestratorv1.ExchangeResponse{UserId: p.UserID, TokenId: p.TokenID, Scopes: p.Scopes}, err
}

func TestTokensAreExchangedInAnotherProcess(t *testing.T) {
	for _, tc := range []struct {
		name   string
		key    byte // of the process that asks
		token  string
		code   codes.Code
		reason string
	}{
		{"a good token", 'a', "nc_all", codes.OK, ""},
		{"a bad token", 'a', "nc_guess", codes.Unauthenticated, auth.ReasonUnauthenticated},
		{"an orchestrator in trouble", 'a', "nc_down", codes.Unavailable, auth.ReasonIdentityUnavailable},
		{"a process with the wrong key calls no token bad", 'b', "nc_all", codes.Unavailable, auth.ReasonIdentityUnavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := rpc.DefaultServerConfig()
			believes(t, 'a', "orchestrator")(&cfg)
			s, err := rpc.NewServer(cfg)
			if err != nil {
				t.Fatal(err)
			}
			var asked auth.Principal
			orchestratorv1.RegisterIdentityServiceServer(s, identityService{asked: &asked})
			orchestrator := &running{Server: s, t: t, stop: func() { _ = s.Drain(cancelled()) }}
			addr := serveTCP(t, orchestrator)
			t.Cleanup(func() { orchestrator.stop() })
			if err := s.SetReady(); err != nil {
				t.Fatal(err)
			}

			var w witness
			conn, err := rpc.Dial(addr, rpc.DialConfig{Signer: signerOf(t, tc.key, "search"), Audience: "orchestrator"})
			if err != nil {
				t.Fatal(err)
			}
			search := start(t, w.handlers(), func(c *rpc.ServerConfig) { c.Tokens = auth.NewTokenCache(rpc.RemoteExchange(conn, "search")) })
			search.keep(conn, nil)
			err = call(with(t, "authorization", "Bearer "+tc.token), search.stranger(), wantAny)
			requireStatus(t, err, tc.code, tc.reason)
			if _, hinted := rpcerr.RetryDelay(err); hinted != (tc.code == codes.Unavailable) {
				t.Errorf("a retry hint: %v", hinted)
			}
			if tc.code != codes.OK {
				return
			}
			want := auth.Principal{Kind: auth.KindUser, UserID: "u1", TokenID: "t1", Scopes: []string{"*"}}
			if !reflect.DeepEqual(w.principal, want) || asked.ID() != "service/search" {
				t.Errorf("the handler saw %+v, asked by %s", w.principal, asked.ID())
			}
		})
	}
}
