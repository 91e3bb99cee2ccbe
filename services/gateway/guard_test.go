package gateway_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/gateway"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// edgeRoute is a route as the edge sees it.
type edgeRoute struct {
	method, path  string
	open, hasBody bool
}

// ownRoutes are those that no contract has, and some that nobody has.
func ownRoutes() []edgeRoute {
	return []edgeRoute{
		{"GET", "/healthz", true, false}, {"GET", "/readyz", true, false},
		{"GET", "/", true, false}, {"GET", "/conversations/c1", true, false}, {"GET", "/assets/app.js", true, false},
		{"GET", "/openapi.yaml", false, false}, {"GET", "/docs", false, false},
		{"POST", "/", false, true}, {"POST", "/healthz", false, true},
		{"GET", "/api/nothing", false, false}, {"POST", "/api/nothing", false, true},
		{"POST", "/v1/chat/completions", false, false}, {"POST", "/mcp", false, false},
		{"POST", "/api/workspaces/x1/files", false, false}, {"GET", "/api/workspaces/x1/files/content", false, false},
	}
}

// contractRoutes lists the routes of all contracts in this program, whether the
// gateway knows them or not.
func contractRoutes(t *testing.T) []edgeRoute {
	t.Helper()
	var all []edgeRoute
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(fd.Package()), "nanoclaw.") {
			return true
		}
		for i := range fd.Services().Len() {
			methods := fd.Services().Get(i).Methods()
			for j := range methods.Len() {
				rule, _ := proto.GetExtension(methods.Get(j).Options(), annotations.E_Http).(*annotations.HttpRule)
				if rule == nil {
					continue
				}
				r := edgeRoute{hasBody: rule.GetBody() != ""}
				switch p := rule.GetPattern().(type) {
				case *annotations.HttpRule_Get:
					r.method, r.path = "GET", p.Get
				case *annotations.HttpRule_Post:
					r.method, r.path = "POST", p.Post
				case *annotations.HttpRule_Patch:
					r.method, r.path = "PATCH", p.Patch
				case *annotations.HttpRule_Delete:
					r.method, r.path = "DELETE", p.Delete
				default:
					t.Fatalf("%s: a kind of rule that this test does not know", methods.Get(j).FullName())
				}
				segments := strings.Split(r.path, "/")
				for k, s := range segments {
					if strings.HasPrefix(s, "{") {
						segments[k] = "x1"
					}
				}
				r.path = strings.Join(segments, "/")
				all = append(all, r)
			}
		}
		return true
	})
	if len(all) < 20 {
		t.Fatalf("only %d routes found in the contracts", len(all))
	}
	return all
}

func TestGuardOnEveryRoute(t *testing.T) {
	f := newFixture(t, nil)
	checkNoCORS := func(t *testing.T, r reply) {
		t.Helper()
		for name := range r.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("the answer carries %s", name)
			}
		}
	}
	for _, route := range append(ownRoutes(), contractRoutes(t)...) {
		t.Run(route.method+" "+route.path, func(t *testing.T) {
			body := ""
			if route.hasBody {
				body = `{}`
			}
			try := func(change func(*http.Request)) reply {
				r := f.request(t, route.method, route.path, body)
				change(r)
				got := do(t, r)
				checkNoCORS(t, got)
				return got
			}
			for _, host := range []string{"evil.example", "evil.example:3000", "localhost.evil.example", "192.168.1.9:3000", "127.0.0.1.evil.example", "0.0.0.0:3000", "[::]:3000"} {
				mustFail(t, try(func(r *http.Request) { r.Host = host }), 421, "HOST_NOT_ALLOWED")
			}
			foreign := map[string]func(*http.Request){
				"origin":         func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
				"null origin":    func(r *http.Request) { r.Header.Set("Origin", "null") },
				"another port":   func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") },
				"fetch metadata": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
				"same site":      func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
			}
			for name, change := range foreign {
				got := try(change)
				if route.method != "GET" {
					mustFail(t, got, 403, "CROSS_ORIGIN")
				} else if got.StatusCode == 403 {
					t.Errorf("a GET with foreign %s is refused, which it need not be", name)
				}
			}
			if route.hasBody && strings.HasPrefix(route.path, "/api") || route.path == "/chat" {
				for _, ct := range []string{"text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "application/jsonp", ""} {
					mustFail(t, try(func(r *http.Request) { r.Header.Set("Content-Type", ct) }), 415, "UNSUPPORTED_MEDIA_TYPE")
				}
			}
			got := try(func(r *http.Request) { r.Header.Del("Authorization") })
			if route.open {
				if got.StatusCode == 401 {
					t.Error("an open route asks for a token")
				}
			} else {
				mustFail(t, got, 401, "UNAUTHENTICATED")
			}
			for _, method := range []string{"OPTIONS", "HEAD"} {
				got := try(func(r *http.Request) {
					r.Method = method
					r.Header.Set("Origin", "https://evil.example")
					r.Header.Set("Access-Control-Request-Method", "POST")
				})
				if method == "OPTIONS" && got.StatusCode < 400 {
					t.Errorf("a preflight is answered with %d", got.StatusCode)
				}
			}
		})
	}
	if slices.ContainsFunc(f.calls, func(c call) bool { return len(c.md.Get("authorization")) > 0 || len(c.md.Get("cookie")) > 0 }) {
		t.Error("a token was passed on to a service")
	}
}

func TestTokens(t *testing.T) {
	f := newFixture(t, nil)
	for _, tc := range []struct {
		name, authorization, cookie string
		status                      int
		reason, challenge           string
	}{
		{name: "a bearer token", authorization: "Bearer " + goodToken, status: 200},
		{name: "the scheme in any case", authorization: "bearer " + goodToken, status: 200},
		{name: "a cookie", cookie: goodToken, status: 200},
		{name: "a bad bearer token is not saved by a good cookie", authorization: "Bearer nc_bad", cookie: goodToken, status: 401, reason: "TOKEN_INVALID", challenge: `Bearer realm="nanoclaw", error="invalid_token"`},
		{name: "an empty token", authorization: "Bearer ", status: 401, reason: "TOKEN_INVALID", challenge: `Bearer realm="nanoclaw", error="invalid_token"`},
		{name: "another scheme", authorization: "Basic eDp5", status: 401, reason: "TOKEN_INVALID", challenge: `Bearer realm="nanoclaw", error="invalid_token"`},
		{name: "a token too long to ask about", authorization: "Bearer " + strings.Repeat("x", 600), status: 401, reason: "TOKEN_INVALID", challenge: `Bearer realm="nanoclaw", error="invalid_token"`},
		{name: "none", status: 401, reason: "UNAUTHENTICATED", challenge: `Bearer realm="nanoclaw"`},
		{name: "one that cannot be checked now is not the caller's fault", authorization: "Bearer nc_down", status: 503, reason: "IDENTITY_UNAVAILABLE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := f.request(t, "GET", "/api/conversations", "")
			r.Header.Del("Authorization")
			if tc.authorization != "" {
				r.Header.Set("Authorization", tc.authorization)
			}
			if tc.cookie != "" {
				r.AddCookie(&http.Cookie{Name: "nanoclaw_token", Value: tc.cookie})
			}
			got := do(t, r)
			if tc.status == 200 {
				if got.StatusCode != 200 {
					t.Fatalf("answer = %d %s", got.StatusCode, got.body)
				}
				md := f.lastCall(t).md
				if p, ok, err := auth.FromMetadata(md); err != nil || !ok || p.UserID != "u1" || p.TokenID != "t1" {
					t.Errorf("the service saw %+v, %v, %v", p, ok, err)
				}
				if len(md.Get("authorization"))+len(md.Get("cookie"))+len(md.Get("grpcgateway-cookie")) > 0 {
					t.Errorf("the token was passed on: %v", md)
				}
				return
			}
			mustFail(t, got, tc.status, tc.reason)
			if c := got.Header.Get("WWW-Authenticate"); c != tc.challenge {
				t.Errorf("WWW-Authenticate = %q, want %q", c, tc.challenge)
			}
		})
	}
}

func TestTokensAreExchangedByTheOrchestrator(t *testing.T) {
	b := &backend{exchange: func(ctx context.Context, r *orchestratorv1.ExchangeRequest) (*orchestratorv1.ExchangeResponse, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		if p, ok, err := auth.FromMetadata(md); err != nil || !ok || p.Kind != auth.KindService {
			return nil, rpcerr.New(codes.PermissionDenied, "SERVICE_ONLY", "services only, not %s", p.ID())
		}
		if r.GetToken() != "nc_x" {
			return nil, rpcerr.New(codes.Unauthenticated, "UNAUTHENTICATED", "no such token")
		}
		return &orchestratorv1.ExchangeResponse{UserId: "u2", TokenId: "t2", Scopes: []string{"chat"}}, nil
	}}
	f := newFixture(t, b, func(_ *gateway.Config, d *gateway.Deps) {
		d.Tokens = auth.NewTokenCache(rpc.RemoteExchange(d.Conn, "gateway"))
	})
	r := f.request(t, "GET", "/api/conversations", "")
	r.Header.Set("Authorization", "Bearer nc_x")
	if got := do(t, r); got.StatusCode != 200 {
		t.Fatalf("answer = %d %s", got.StatusCode, got.body)
	}
	p, _, _ := auth.FromMetadata(f.lastCall(t).md)
	if p.Kind != auth.KindUser || p.UserID != "u2" || p.TokenID != "t2" || !p.Has("chat") || p.Has("tools") {
		t.Errorf("principal = %+v", p)
	}
	mustFail(t, do(t, f.request(t, "GET", "/api/conversations", "")), 401, "TOKEN_INVALID")
}

func TestASignInLinkBecomesACookie(t *testing.T) {
	f := newFixture(t, nil)
	for _, tc := range []struct{ name, path, want string }{
		{"the first page", "/?token=" + goodToken, "/"},
		{"another page, with the rest of its query", "/c/1?x=2&token=" + goodToken, "/c/1?x=2"},
		{"the page of routes", "/docs?token=" + goodToken, "/docs"},
		{"a path that would lead to another server", "//evil.example/?token=" + goodToken, "/evil.example/"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := f.request(t, "GET", tc.path, "")
			r.Header.Del("Authorization")
			got := do(t, r)
			if got.StatusCode != 303 || got.Header.Get("Location") != tc.want {
				t.Fatalf("answer = %d to %q, want 303 to %q", got.StatusCode, got.Header.Get("Location"), tc.want)
			}
			cookies := got.Cookies()
			if len(cookies) != 1 {
				t.Fatalf("cookies = %v", cookies)
			}
			c := cookies[0]
			if c.Name != "nanoclaw_token" || c.Value != goodToken || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge <= 0 {
				t.Errorf("cookie = %+v", c)
			}
			if got.Header.Get("Referrer-Policy") != "no-referrer" || got.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("headers = %v", got.Header)
			}
		})
	}
	t.Run("a bad token is told to the person", func(t *testing.T) {
		r := f.request(t, "GET", "/?token=nc_old", "")
		r.Header.Set("Accept", "text/html")
		got := do(t, r)
		if got.StatusCode != 401 || len(got.Cookies()) != 0 || !strings.Contains(got.body, "not valid any more") || !strings.Contains(got.body, "<h1>") {
			t.Errorf("answer = %d %v %s", got.StatusCode, got.Cookies(), got.body)
		}
	})
	t.Run("and to a program", func(t *testing.T) {
		mustFail(t, do(t, f.request(t, "GET", "/?token=nc_old", "")), 401, "TOKEN_INVALID")
	})
	t.Run("the API takes no token from its query", func(t *testing.T) {
		r := f.request(t, "GET", "/api/conversations?token="+goodToken, "")
		r.Header.Del("Authorization")
		mustFail(t, do(t, r), 401, "UNAUTHENTICATED")
	})
	if log := f.log.String(); strings.Contains(log, goodToken) || strings.Contains(log, "nc_old") {
		t.Error("a token is in the log")
	}
}

func TestHeadersFromOutsideDoNotReachServices(t *testing.T) {
	f := newFixture(t, nil)
	r := f.request(t, "GET", "/api/conversations", "")
	for name, value := range map[string]string{
		"Grpc-Metadata-X-Nanoclaw-User": "root", "X-Nanoclaw-User": "root", "X-Nanoclaw-Kind": "service",
		"Grpc-Timeout": "1n", "Baggage": "user.id=root", "X-Forwarded-For": "10.9.9.9", "X-Forwarded-Host": "evil.example",
		"Grpcgateway-Authorization": "x", "X-Not-After": "1", "Te": "trailers",
		"Idempotency-Key": "k-1",
	} {
		r.Header.Set(name, value)
	}
	if got := do(t, r); got.StatusCode != 200 {
		t.Fatalf("answer = %d %s", got.StatusCode, got.body)
	}
	md := f.lastCall(t).md
	if p, _, err := auth.FromMetadata(md); err != nil || p.UserID != "u1" {
		t.Errorf("principal = %+v, %v", p, err)
	}
	if got := md.Get("idempotency-key"); !slices.Equal(got, []string{"k-1"}) {
		t.Errorf("idempotency-key = %v", got)
	}
	for _, key := range []string{"baggage", "x-not-after", "grpcgateway-authorization", "grpcgateway-te"} {
		if len(md.Get(key)) > 0 {
			t.Errorf("%s reached the service: %v", key, md.Get(key))
		}
	}
	for _, value := range append(md.Get("x-forwarded-for"), md.Get("x-forwarded-host")...) {
		if strings.Contains(value, "10.9.9.9") || strings.Contains(value, "evil") {
			t.Errorf("a forwarded header is believed: %s", value)
		}
	}
}

func TestHostsOfTheConfigurationAreServed(t *testing.T) {
	f := newFixture(t, nil, func(c *gateway.Config, _ *gateway.Deps) {
		c.ListenAddr = "192.168.1.9:3000"
		c.AllowedHosts = []string{"Claw.Example."}
	})
	for host, want := range map[string]int{
		"192.168.1.9:3000": 200, "192.168.1.9:8080": 200, "claw.example": 200, "CLAW.example:443": 200,
		"localhost:1": 200, "[::1]:3000": 200, "127.9.9.9": 200, "::1": 200, "LOCALHOST.": 200,
		"192.168.1.8:3000": 421, "x.claw.example": 421,
	} {
		r := f.request(t, "GET", "/healthz", "")
		r.Host = host
		if got := do(t, r); got.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, got.StatusCode, want)
		}
	}
}

func TestWithoutTokens(t *testing.T) {
	anonymous := auth.UserPrincipal("local", auth.ScopeAll)
	f := newFixture(t, nil, func(c *gateway.Config, d *gateway.Deps) {
		c.ListenAddr = "127.0.0.1:3000"
		d.Anonymous = &anonymous
	})
	r := f.request(t, "GET", "/api/conversations", "")
	r.Header.Del("Authorization")
	if got := do(t, r); got.StatusCode != 200 {
		t.Fatalf("answer = %d %s", got.StatusCode, got.body)
	}
	if p, _, _ := auth.FromMetadata(f.lastCall(t).md); p.UserID != "local" {
		t.Errorf("principal = %+v", p)
	}
	r = f.request(t, "GET", "/api/conversations", "")
	r.Header.Set("Authorization", "Bearer nc_bad")
	mustFail(t, do(t, r), 401, "TOKEN_INVALID")

	for _, addr := range []string{"0.0.0.0:3000", ":3000", "192.168.1.9:3000", ""} {
		cfg := gateway.DefaultConfig()
		cfg.ListenAddr = addr
		_, err := gateway.New(t.Context(), cfg, gateway.Deps{Conn: (&backend{}).start(t), Tokens: auth.NewTokenCache(exchange), Anonymous: &anonymous})
		if err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Errorf("listening on %q without tokens: %v", addr, err)
		}
	}
}
