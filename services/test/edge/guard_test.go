package edge

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// route is one route of the served document, or one that no document has.
type route struct {
	method, path string
	open         bool // needs no token
	hasBody      bool
}

// unlisted are routes that the document does not have: the app's files, the
// streaming twin of a listed route, and what nobody serves.
func unlisted() []route {
	return []route{
		{method: "GET", path: "/", open: true},
		{method: "GET", path: "/conversations/x1", open: true},
		{method: "GET", path: "/assets/app.js", open: true},
		{method: "POST", path: "/", hasBody: true},
		{method: "POST", path: "/healthz", hasBody: true},
		{method: "POST", path: "/api/conversations/x1/messages:stream", hasBody: true},
		{method: "GET", path: "/api/nothing"},
		{method: "POST", path: "/api/nothing", hasBody: true},
		{method: "POST", path: "/v1/chat/completions", hasBody: true},
		{method: "POST", path: "/mcp", hasBody: true},
		{method: "GET", path: "/metrics", open: true}, // the app's, not the admin port's
		{method: "GET", path: "/debug/pprof/", open: true},
	}
}

// answer is a whole answer.
type answer struct {
	*http.Response
	text string
}

// ask sends a request that change made out of an ordinary one.
func (r route) ask(t *testing.T, c *world.Client, change func(*http.Request)) answer {
	t.Helper()
	var body io.Reader
	if r.hasBody {
		body = strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(deadline(t), r.method, c.Base+r.path, body)
	if err != nil {
		t.Fatal(err)
	}
	if r.hasBody {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if change != nil {
		change(req)
	}
	return do(t, c, req)
}

func do(t *testing.T, c *world.Client, req *http.Request) answer {
	t.Helper()
	client := *c.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for name := range res.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s %s answers with %s", req.Method, req.URL.Path, name)
		}
	}
	return answer{res, string(text)}
}

// refused checks that an answer is an error envelope of the status and reason.
func (a answer) refused(t *testing.T, status int, reason string) {
	t.Helper()
	var envelope struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Reason  string `json:"reason"`
		TraceID string `json:"trace_id"`
	}
	err := json.Unmarshal([]byte(a.text), &envelope)
	if a.StatusCode != status || err != nil || envelope.Code != status || envelope.Reason != reason || envelope.Message == "" {
		t.Errorf("answer = %d %s, want %d %s", a.StatusCode, a.text, status, reason)
	}
}

func startWorld(t *testing.T, change ...func(*suite.Options)) (*world.World, *suite.Suite, *world.Client) {
	t.Helper()
	w := world.New(t, answering)
	s := w.Start(t, change...)
	c := world.ClientOf(s)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	return w, s, c
}

// foreignHosts are by what this server must not be asked for: what a name that
// was bound anew to a loopback address sends (DNS rebinding).
var foreignHosts = []string{
	"evil.example", "evil.example:3000", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.9:3000", "0.0.0.0:3000", "[::]:3000",
}

// foreign are the signs of a request that a page from elsewhere makes.
var foreign = map[string]func(*http.Request){
	"another origin":     func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
	"an opaque origin":   func(r *http.Request) { r.Header.Set("Origin", "null") },
	"another port":       func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") },
	"another site":       func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
	"another port, told": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
}

func TestEveryRouteIsGuarded(t *testing.T) {
	_, _, c := startWorld(t)
	for _, r := range append(unlisted(), document(t, c).routes()...) {
		t.Run(r.method+" "+r.path, func(t *testing.T) {
			for _, host := range foreignHosts {
				r.ask(t, c, func(req *http.Request) { req.Host = host }).refused(t, http.StatusMisdirectedRequest, "HOST_NOT_ALLOWED")
			}
			for _, name := range sorted(foreign) {
				got := r.ask(t, c, foreign[name])
				if r.method != http.MethodGet {
					got.refused(t, http.StatusForbidden, "CROSS_ORIGIN")
				}
			}
			if got := r.ask(t, c, func(req *http.Request) {
				req.Method = http.MethodOptions
				req.Header.Set("Origin", "https://evil.example")
				req.Header.Set("Access-Control-Request-Method", r.method)
			}); got.StatusCode < 400 {
				t.Errorf("a preflight is answered with %d", got.StatusCode)
			}
			if r.hasBody && strings.HasPrefix(r.path, "/api/") && r.path != "/api/nothing" || r.path == "/chat" {
				for _, media := range []string{"text/plain", "text/plain; charset=utf-8", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
					r.ask(t, c, func(req *http.Request) { req.Header.Set("Content-Type", media) }).
						refused(t, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
				}
			}
			noToken := r.ask(t, c, func(req *http.Request) { req.Header.Del("Authorization") })
			claims := r.ask(t, c, func(req *http.Request) {
				req.Header.Del("Authorization")
				for _, name := range []string{"X-Nanoclaw-", "Grpc-Metadata-X-Nanoclaw-"} {
					req.Header.Set(name+"User", "usr_x")
					req.Header.Set(name+"Kind", "user")
					req.Header.Set(name+"Scopes", "*")
				}
				req.Header.Set("Grpc-Metadata-Authorization", "Bearer "+c.Token)
			})
			badToken := r.ask(t, c, func(req *http.Request) { req.Header.Set("Authorization", "Bearer nc_of_nobody") })
			if r.open {
				if noToken.StatusCode == http.StatusUnauthorized {
					t.Errorf("an open route asks for a token: %s", noToken.text)
				}
				return
			}
			noToken.refused(t, http.StatusUnauthorized, "UNAUTHENTICATED")
			claims.refused(t, http.StatusUnauthorized, "UNAUTHENTICATED")
			badToken.refused(t, http.StatusUnauthorized, "TOKEN_INVALID")
		})
	}
}

// A claim beside a good token does not change whom it stands for.
func TestClaimsBesideATokenAreIgnored(t *testing.T) {
	h := newHouse(t)
	list := route{method: "GET", path: "/api/conversations"}
	plain := list.ask(t, h.guest.Client, nil)
	claims := list.ask(t, h.guest.Client, func(req *http.Request) {
		for _, name := range []string{"X-Nanoclaw-", "Grpc-Metadata-X-Nanoclaw-", "Grpcgateway-X-Nanoclaw-"} {
			req.Header.Set(name+"User", h.suite.Owner().UserID)
			req.Header.Set(name+"Kind", "user")
		}
		req.Header.Set("Baggage", "user.id="+h.suite.Owner().UserID)
	})
	if plain.StatusCode != http.StatusOK || !strings.Contains(plain.text, h.guest.ids["conversation_id"]) || claims.text != plain.text {
		t.Errorf("with claims: %d %s\nwithout: %d %s", claims.StatusCode, claims.text, plain.StatusCode, plain.text)
	}
}

func TestTheLinkOfTheReadyLineSignsABrowserIn(t *testing.T) {
	_, s, c := startWorld(t)
	c.Token = ""
	link := route{method: "GET", path: strings.TrimPrefix(s.URL(), c.Base)}
	got := link.ask(t, c, nil)
	if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/" {
		t.Fatalf("the link answers %d to %q, want 303 to /", got.StatusCode, got.Header.Get("Location"))
	}
	cookies := got.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/" {
		t.Fatalf("cookies = %v", cookies)
	}
	list := route{method: "GET", path: "/api/conversations"}
	withCookie := func(req *http.Request) { req.AddCookie(cookies[0]) }
	if got := list.ask(t, c, withCookie); got.StatusCode != http.StatusOK {
		t.Errorf("with the cookie: %d %s", got.StatusCode, got.text)
	}
	create := route{method: "POST", path: "/api/conversations", hasBody: true}
	if got := create.ask(t, c, withCookie); got.StatusCode != http.StatusOK {
		t.Errorf("a request of the app's own page: %d %s", got.StatusCode, got.text)
	}
	for _, name := range sorted(foreign) {
		create.ask(t, c, func(req *http.Request) { withCookie(req); foreign[name](req) }).refused(t, http.StatusForbidden, "CROSS_ORIGIN")
	}
	wrong := route{method: "GET", path: "/?token=nc_of_nobody"}.ask(t, c, nil)
	wrong.refused(t, http.StatusUnauthorized, "TOKEN_INVALID")
	if len(wrong.Cookies()) > 0 {
		t.Errorf("a wrong token leaves cookies: %v", wrong.Cookies())
	}
	// The host is checked before a link is: a rebound name gets no cookie.
	if got := link.ask(t, c, func(req *http.Request) { req.Host = "evil.example" }); got.StatusCode != http.StatusMisdirectedRequest || len(got.Cookies()) > 0 {
		t.Errorf("a link for another host: %d %v", got.StatusCode, got.Cookies())
	}
}

func TestWithoutTokensTheEdgeIsStillGuarded(t *testing.T) {
	_, s, c := startWorld(t, func(o *suite.Options) { o.NoToken = true })
	if c.Token != "" || strings.Contains(s.URL(), "token") {
		t.Fatalf("the printed URL has a token: %s", s.URL())
	}
	for _, r := range document(t, c).routes() {
		t.Run(r.method+" "+r.path, func(t *testing.T) {
			if got := r.ask(t, c, nil); got.StatusCode == http.StatusUnauthorized || got.StatusCode >= 500 {
				t.Errorf("answer = %d %s", got.StatusCode, got.text)
			}
			for _, host := range foreignHosts {
				r.ask(t, c, func(req *http.Request) { req.Host = host }).refused(t, http.StatusMisdirectedRequest, "HOST_NOT_ALLOWED")
			}
			if r.method != http.MethodGet {
				for _, name := range sorted(foreign) {
					r.ask(t, c, foreign[name]).refused(t, http.StatusForbidden, "CROSS_ORIGIN")
				}
			}
		})
	}
	t.Run("gRPC takes callers of this machine without a token", func(t *testing.T) {
		conn := dial(t, s.GRPCAddr())
		for _, m := range methods(t) {
			if m.desc.Name() == "ListConversations" {
				if _, err := m.call(deadline(t), t, conn, newMessage(t, m.desc.Input())); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func TestOnlyLoopbackIsListenedOnWithoutTokens(t *testing.T) {
	for _, tc := range []struct {
		name    string
		noToken bool
		change  func(*suite.Config, string)
		key     string
	}{
		{"HTTP", true, func(c *suite.Config, addr string) { c.HTTP.Addr = addr }, "http.addr"},
		{"gRPC", true, func(c *suite.Config, addr string) { c.GRPC.Addr = addr }, "grpc.addr"},
		{"the admin port", true, func(c *suite.Config, addr string) { c.Admin.Addr = addr }, "admin.addr"},
		{"the admin port, which never asks for a token", false, func(c *suite.Config, addr string) { c.Admin.Addr = addr }, "admin.addr"},
	} {
		for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "nanoclaw.example:0"} {
			t.Run(tc.name+" on "+addr, func(t *testing.T) {
				w := world.New(t, answering)
				tc.change(&w.Config, addr)
				s, err := suite.Start(t.Context(), w.Config, suite.Options{Listen: true, NoToken: tc.noToken, Logger: quiet})
				if err == nil {
					_ = s.Stop(t.Context())
					t.Fatal("it was started")
				}
				if !strings.Contains(err.Error(), tc.key) || !strings.Contains(err.Error(), "loopback") {
					t.Errorf("the error does not say what to change: %v", err)
				}
			})
		}
	}
}
