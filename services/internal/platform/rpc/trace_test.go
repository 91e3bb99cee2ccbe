package rpc_test

import (
	"context"
	"log/slog"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/baggage"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/otlptest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
)

func TestSpansOfACallHangTogether(t *testing.T) {
	collector := otlptest.Start(t)
	shutdown, _, err := telemetry.Setup(t.Context(), telemetry.Config{
		Exporter: telemetry.ExporterOTLP, OTLPEndpoint: collector.Endpoint(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	var depth int
	var conn *grpc.ClientConn
	r := start(t, &handlers{unary: func(ctx context.Context) error {
		if depth++; depth == 1 { // a service that calls another for the user
			return call(ctx, conn, wantAny)
		}
		return nil
	}}, nil)
	conn = r.inside()
	if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}

	ctx, root := otel.Tracer("nanoclaw/gateway").Start(as(t, auth.UserPrincipal("u1", "*")), "GET /api/runs/{run_id}")
	traceID := telemetry.TraceID(ctx)
	var header metadata.MD
	if err := getRun(ctx, conn, grpc.Header(&header)); err != nil {
		t.Fatal(err)
	}
	root.End()
	r.stop()
	if err := shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := header.Get(rpc.HeaderTraceID); len(got) != 1 || got[0] != traceID {
		t.Errorf("%s = %v, want %s", rpc.HeaderTraceID, got, traceID)
	}
	collector.RequireTree(t, traceID, `
		nanoclaw | GET /api/runs/{run_id}
		  nanoclaw | nanoclaw.orchestrator.v1.RunService/GetRun
		    nanoclaw | nanoclaw.orchestrator.v1.RunService/GetRun
		      nanoclaw | nanoclaw.tool.v1.ToolProviderService/ListTools
		        nanoclaw | nanoclaw.tool.v1.ToolProviderService/ListTools
	`)
	for _, s := range collector.Spans() {
		if s.TraceID != traceID {
			t.Errorf("health checks are traced: %+v", s)
		}
		if s.Kind == "server" && s.Attributes["user.id"] != "u1" {
			t.Errorf("server span without its user: %+v", s)
		}
	}
}

func TestBaggageOfStrangersIsDropped(t *testing.T) {
	shutdown, _, err := telemetry.Setup(t.Context(), telemetry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = shutdown(context.Background()) }()
	var seen string
	r := start(t, &handlers{unary: func(ctx context.Context) error {
		seen = baggage.FromContext(ctx).Member("user.id").Value()
		return nil
	}}, withExchange)
	if err := call(with(t, "authorization", "Bearer nc_all", "baggage", "user.id=root"), r.stranger(), wantChat); err != nil || seen != "" {
		t.Errorf("baggage from outside came through: %q, %v", seen, err)
	}
	member, err := baggage.NewMember("user.id", "u1")
	if err != nil {
		t.Fatal(err)
	}
	bag, err := baggage.New(member)
	if err != nil {
		t.Fatal(err)
	}
	if err := call(baggage.ContextWithBaggage(as(t, user), bag), r.inside(), wantChat); err != nil || seen != "u1" {
		t.Errorf("baggage inside = %q, %v; want u1", seen, err)
	}
	requireStatus(t, call(t.Context(), r.stranger(), wantChat), codes.Unauthenticated, auth.ReasonUnauthenticated)
}
