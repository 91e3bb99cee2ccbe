package guard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/guard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestAPrincipalIsRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, revoked := 0, false
		g, err := guard.New(guard.Config{
			CacheTTL: time.Minute, CacheSize: 2,
			Open: func(*http.Request) bool { return false }, Page: func(*http.Request) bool { return false },
			BadLink: func(http.ResponseWriter, *http.Request, envelope.Problem) {},
			Exchange: func(_ context.Context, token string) (auth.Principal, error) {
				asked++
				if revoked || token == "bad" {
					return auth.Principal{}, rpcerr.New(codes.Unauthenticated, "UNAUTHENTICATED", "no")
				}
				return auth.UserPrincipal("user of "+token, "chat"), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		var user string
		h := g.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			p, _ := auth.FromContext(r.Context())
			user = p.UserID
		}))
		get := func(token string) int {
			r := httptest.NewRequest("GET", "http://localhost/api/x", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		expect := func(what string, status, wantStatus, wantAsked int) {
			t.Helper()
			if status != wantStatus || asked != wantAsked {
				t.Errorf("%s: status %d after %d exchanges, want %d after %d", what, status, asked, wantStatus, wantAsked)
			}
		}
		expect("the first time", get("a"), 200, 1)
		if user != "user of a" {
			t.Errorf("user = %q", user)
		}
		time.Sleep(59 * time.Second)
		expect("within the minute", get("a"), 200, 1)
		revoked = true
		time.Sleep(time.Second)
		expect("after the minute a revoked token is refused", get("a"), 401, 2)
		revoked = false
		expect("a refusal is not remembered", get("a"), 200, 3)
		expect("b", get("b"), 200, 4)
		expect("c pushes a out", get("c"), 200, 5)
		expect("a is asked for again", get("a"), 200, 6)
		expect("a bad token", get("bad"), 401, 7)
	})
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
