package gateway

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"

	"github.com/nanoclaw/nanoclaw/gen"
	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/body"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/guard"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/openapi"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/sse"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/webui"
)

// Gateway serves HTTP.
type Gateway struct {
	log     *slog.Logger
	conns   []grpc.ClientConnInterface // each one once
	limits  body.Limits
	streams sse.Options
	drain   context.CancelFunc

	workspaces sandboxv1.WorkspaceServiceClient
	maxUpload  int64

	routes    []route
	byPattern map[string]route // by "METHOD pattern"
	mux       *runtime.ServeMux
	app       *webui.App
	document  *openapi.Document
	docs      []byte
	handler   http.Handler
}

// New makes a gateway. ctx is only used while it is made.
func New(ctx context.Context, cfg Config, deps Deps) (*Gateway, error) {
	g, err := build(ctx, cfg, deps)
	if err != nil {
		return nil, fmt.Errorf("set up the gateway: %w", err)
	}
	return g, nil
}

func build(ctx context.Context, cfg Config, deps Deps) (*Gateway, error) {
	if err := deps.check(cfg); err != nil {
		return nil, err
	}
	draining, drain := context.WithCancel(context.Background())
	g := &Gateway{
		log:     deps.Logger,
		conns:   distinct(deps.orchestrator(), deps.search(), deps.fetcher(), deps.taskManager(), deps.sandbox()),
		limits:  body.Limits{MaxBytes: cfg.MaxBodyBytes, ReadTimeout: cfg.BodyReadTimeout},
		streams: sse.Options{Ping: cfg.PingInterval, WriteTimeout: cfg.EventWriteTimeout, Drain: draining},
		drain:   drain,

		workspaces: sandboxv1.NewWorkspaceServiceClient(deps.sandbox()),
		maxUpload:  cfg.MaxUploadBytes,
	}
	if g.log == nil {
		g.log = slog.Default()
	}
	if err := g.buildRoutes(ctx, deps); err != nil {
		return nil, err
	}
	if err := g.buildPages(cfg); err != nil {
		return nil, err
	}
	edge, err := guard.New(guard.Config{
		Hosts:     append(guard.ListenHosts(cfg.ListenAddr), cfg.AllowedHosts...),
		Tokens:    deps.Tokens,
		Anonymous: deps.Anonymous,
		Open:      isOpen,
		Page:      isPage,
		BadLink:   badLink,
	})
	if err != nil {
		return nil, err
	}
	traced := otelhttp.NewHandler(g.observe(edge.Handler(http.HandlerFunc(g.route))), "gateway", tracing(cfg, deps)...)
	g.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guard.Strip(r.Header)
		secure(w.Header())
		traced.ServeHTTP(w, r)
	})
	return g, nil
}

// tracing begins a new trace with each request: whoever calls from outside may
// be linked to, but not decide what is sampled. Health checks are not traced.
func tracing(cfg Config, deps Deps) []otelhttp.Option {
	options := []otelhttp.Option{
		// Else the port of metrics is what callers write into Host: no end of series.
		otelhttp.WithServerName(cfg.ListenAddr),
		otelhttp.WithPublicEndpointFn(func(*http.Request) bool { return true }),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool { return classOf(r.URL.Path) != classHealth }),
	}
	if deps.TracerProvider != nil {
		options = append(options, otelhttp.WithTracerProvider(deps.TracerProvider))
	}
	return options
}

func (g *Gateway) buildRoutes(ctx context.Context, deps Deps) error {
	var err error
	if g.routes, err = routes(served()); err != nil {
		return err
	}
	g.routes = append(g.routes, fileRoutes()...)
	g.byPattern = make(map[string]route)
	for _, r := range g.routes {
		g.byPattern[r.method+" "+r.pattern] = r
	}
	g.mux = g.newMux()
	o, s, f := deps.orchestrator(), deps.search(), deps.fetcher()
	for _, register := range []func() error{
		func() error {
			return orchestratorv1.RegisterConversationServiceHandlerClient(ctx, g.mux, orchestratorv1.NewConversationServiceClient(o))
		},
		func() error {
			return orchestratorv1.RegisterRunServiceHandlerClient(ctx, g.mux, orchestratorv1.NewRunServiceClient(o))
		},
		func() error {
			return orchestratorv1.RegisterToolServiceHandlerClient(ctx, g.mux, orchestratorv1.NewToolServiceClient(o))
		},
		func() error {
			return orchestratorv1.RegisterIdentityServiceHandlerClient(ctx, g.mux, orchestratorv1.NewIdentityServiceClient(o))
		},
		func() error {
			return orchestratorv1.RegisterAccountServiceHandlerClient(ctx, g.mux, orchestratorv1.NewAccountServiceClient(o))
		},
		func() error {
			return searchv1.RegisterSearchServiceHandlerClient(ctx, g.mux, searchv1.NewSearchServiceClient(s))
		},
		func() error {
			return fetcherv1.RegisterFetcherServiceHandlerClient(ctx, g.mux, fetcherv1.NewFetcherServiceClient(f))
		},
		func() error {
			return taskmanagerv1.RegisterCrawlTaskServiceHandlerClient(ctx, g.mux, taskmanagerv1.NewCrawlTaskServiceClient(deps.taskManager()))
		},
		func() error {
			return sandboxv1.RegisterWorkspaceServiceHandlerClient(ctx, g.mux, sandboxv1.NewWorkspaceServiceClient(deps.sandbox()))
		},
	} {
		if err := register(); err != nil {
			return fmt.Errorf("register routes: %w", err)
		}
	}
	return nil
}

func (g *Gateway) buildPages(cfg Config) error {
	var files fs.FS
	var err error
	if cfg.WebDir != "" {
		files = os.DirFS(cfg.WebDir)
	} else if files, err = webui.Embedded(); err != nil {
		return fmt.Errorf("open the web app: %w", err)
	}
	g.app = webui.New(files)
	if g.document, err = openapi.New(gen.OpenAPI, openapi.Rules{Version: cfg.Version, Bare: isBare}); err != nil {
		return err
	}
	g.docs, err = g.document.Page()
	return err
}

// Handler serves all routes. The server around it must have no WriteTimeout:
// streams set their own deadline for each event.
func (g *Gateway) Handler() http.Handler { return g.handler }

// Drain ends all streams with a bye and makes /readyz fail, so that readers go
// elsewhere. Call it before http.Server.Shutdown, which waits for handlers. More
// calls do nothing.
func (g *Gateway) Drain() { g.drain() }

func distinct(conns ...grpc.ClientConnInterface) []grpc.ClientConnInterface {
	var out []grpc.ClientConnInterface
	seen := make(map[grpc.ClientConnInterface]bool)
	for _, c := range conns {
		if !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}
	return out
}

// badLink answers a sign-in link that does not work to the person who opened it.
func badLink(w http.ResponseWriter, r *http.Request, p envelope.Problem) {
	if !webui.WantsHTML(r) {
		p.Write(w, r)
		return
	}
	webui.WritePage(w, r, p.Status, webui.Page{Title: "NanoClaw: not signed in", Text: p.Message})
}
