package gateway_test

import (
	"io"
	"net/http/httptest"
	"testing"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/gateway"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
)

// identified is a backend that answers for whom the call was made.
type identified struct {
	backend
	user, requestID string
}

func (b *identified) WatchRun(_ *orchestratorv1.WatchRunRequest, s eventServer) error {
	p, err := auth.RequireUser(s.Context())
	if err != nil {
		return err
	}
	b.user, b.requestID = p.UserID, rpc.RequestID(s.Context())
	return s.Send(doneEvent(1))
}

// TestOverThePlatformsServer joins the gateway to the server and connection that
// the binary uses.
func TestOverThePlatformsServer(t *testing.T) {
	srv, err := rpc.NewServer(rpc.DefaultServerConfig())
	if err != nil {
		t.Fatal(err)
	}
	b := &identified{}
	orchestratorv1.RegisterConversationServiceServer(srv, b)
	orchestratorv1.RegisterRunServiceServer(srv, b)
	searchv1.RegisterSearchServiceServer(srv, b)
	conn, err := srv.DialInProcess(rpc.DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.ServeInProcess() }()
	gw, err := gateway.New(t.Context(), gateway.DefaultConfig(), gateway.Deps{Conn: conn, Tokens: auth.NewTokenCache(exchange)})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(gw.Handler())
	t.Cleanup(func() {
		web.Close()
		_ = conn.Close()
		_ = srv.Drain(t.Context())
		<-served
	})
	f := &fixture{url: web.URL}

	mustFail(t, do(t, f.request(t, "GET", "/readyz", "")), 503, "NOT_READY")
	if err := srv.SetReady(); err != nil {
		t.Fatal(err)
	}
	if got := do(t, f.request(t, "GET", "/readyz", "")); got.StatusCode != 200 {
		t.Errorf("readyz = %d %s", got.StatusCode, got.body)
	}

	r := f.request(t, "GET", "/api/runs/r1/events", "")
	r.Header.Set("X-Request-Id", "req-7")
	_, _ = io.Copy(io.Discard, open(t, r).Body)
	if b.user != "u1" || b.requestID != "req-7" {
		t.Errorf("the service saw user %q, request %q", b.user, b.requestID)
	}

	for _, tc := range []struct{ name, path, body, field string }{
		{"a query of one letter", "/api/search", `{"query":"x"}`, "query"},
		{"a value out of range", "/api/search", `{"query":"go","max_results":11}`, "max_results"},
		{"a message without text, streamed", "/api/conversations/c1/messages", `{"content":" "}`, "content"},
		{"a message without text, whole", "/api/conversations/c1/messages", `{"stream":false}`, "content"},
		{"no body at all", "/chat", "", "message"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := mustFail(t, do(t, f.request(t, "POST", tc.path, tc.body)), 400, "INVALID_ARGUMENT")
			if len(*got.Details) == 0 || (*got.Details)[0].Field != tc.field {
				t.Errorf("details = %+v, want the field %s", *got.Details, tc.field)
			}
		})
	}
	t.Run("domains both ways", func(t *testing.T) {
		mustFail(t, do(t, f.request(t, "POST", "/api/search", `{"query":"go","allowed_domains":["a.example"],"blocked_domains":["b.example"]}`)), 400, "INVALID_ARGUMENT")
	})
}
