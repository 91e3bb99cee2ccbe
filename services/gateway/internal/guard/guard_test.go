package guard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/guard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestAPrincipalIsRememberedUntilItsTokenIsForgotten(t *testing.T) {
	asked := 0
	tokens := auth.NewTokenCache(func(_ context.Context, token string) (auth.Principal, error) {
		if asked++; token == "nc_bad" || asked > 2 {
			return auth.Principal{}, rpcerr.New(codes.Unauthenticated, "TOKEN_INVALID", "no")
		}
		p := auth.UserPrincipal("user of "+token, "chat")
		p.TokenID = "tok_" + token
		return p, nil
	})
	g, err := guard.New(guard.Config{
		Tokens: tokens,
		Open:   func(*http.Request) bool { return false }, Page: func(*http.Request) bool { return false },
		BadLink: func(http.ResponseWriter, *http.Request, envelope.Problem) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	var user string
	h := g.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p, _ := auth.FromContext(r.Context())
		user = p.UserID
	}))
	expect := func(what, token string, wantStatus, wantAsked int) {
		t.Helper()
		r := httptest.NewRequest("GET", "http://localhost/api/x", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != wantStatus || asked != wantAsked {
			t.Errorf("%s: status %d after %d exchanges, want %d after %d", what, w.Code, asked, wantStatus, wantAsked)
		}
	}
	expect("the first time", "nc_a", 200, 1)
	if user != "user of nc_a" {
		t.Errorf("user = %q", user)
	}
	expect("again", "nc_a", 200, 1)
	expect("a bad token", "nc_bad", 401, 2)
	expect("the bad token again", "nc_bad", 401, 2)
	tokens.Forget("tok_nc_a")
	expect("after it was revoked", "nc_a", 401, 3)
}

func TestListenAddresses(t *testing.T) {
	for _, tc := range []struct {
		addr     string
		loopback bool
		hosts    int
	}{
		{"127.0.0.1:3000", true, 1}, {"localhost:3000", true, 1}, {"[::1]:3000", true, 1}, {"127.3.4.5:1", true, 1},
		{"0.0.0.0:3000", false, 0}, {":3000", false, 0}, {"[::]:3000", false, 0}, {"", false, 0},
		{"10.0.0.5:3000", false, 1}, {"claw.example:80", false, 1},
	} {
		if got := guard.IsLoopback(tc.addr); got != tc.loopback {
			t.Errorf("IsLoopback(%q) = %v", tc.addr, got)
		}
		if got := guard.ListenHosts(tc.addr); len(got) != tc.hosts {
			t.Errorf("ListenHosts(%q) = %v", tc.addr, got)
		}
	}
}
