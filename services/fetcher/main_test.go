package fetcher

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

var spans = tracetest.NewSpanRecorder()

func TestMain(m *testing.M) {
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	goleak.VerifyTestMain(m)
}

// site is a web server on loopback and a service that may fetch from it.
type site struct {
	url     string
	service *Service
	fetcher fetcherv1.FetcherServiceClient
	tools   toolv1.ToolProviderServiceClient
}

// newSite serves a handler, and the service over gRPC in memory.
func newSite(t *testing.T, h http.HandlerFunc) *site {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	guard, err := netguard.New(netguard.Config{Allow: []string{web.Listener.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.MaxRetries = 0
	svc, err := New(context.Background(), cfg, Deps{Guard: guard})
	if err != nil {
		t.Fatal(err)
	}
	lis := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	svc.Register(server)
	svc.RegisterTools(server)
	go func() { _ = server.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///fetcher", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
	})
	return &site{url: web.URL, service: svc, fetcher: fetcherv1.NewFetcherServiceClient(conn), tools: toolv1.NewToolProviderServiceClient(conn)}
}

// serveBody serves one body.
func serveBody(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(body))
	}
}

func (s *site) fetch(t *testing.T, req *fetcherv1.FetchRequest) *fetcherv1.FetchResponse {
	t.Helper()
	if req.Url == "" {
		req.Url = s.url
	}
	resp, err := s.fetcher.Fetch(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// refuse wants an error of one code and reason.
func (s *site) refuse(t *testing.T, url string, code codes.Code, reason string) *status.Status {
	t.Helper()
	_, err := s.fetcher.Fetch(context.Background(), &fetcherv1.FetchRequest{Url: url})
	if status.Code(err) != code || rpcerr.Reason(err) != reason {
		t.Fatalf("%v (reason %s), want %s with reason %s", err, rpcerr.Reason(err), code, reason)
	}
	return status.Convert(err)
}

// warned says whether a warning of a name was given.
func warned(warnings []string, name string) bool {
	for _, w := range warnings {
		if strings.HasPrefix(w, name+": ") {
			return true
		}
	}
	return false
}
