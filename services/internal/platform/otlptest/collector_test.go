package otlptest_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/otlptest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// export records spans through the real exporter into c.
func export(t *testing.T, c *otlptest.Collector, service string, record func(context.Context, trace.Tracer)) {
	t.Helper()
	shutdown, _, err := telemetry.Setup(t.Context(), telemetry.Config{
		Exporter: telemetry.ExporterOTLP, OTLPEndpoint: c.Endpoint(), ServiceName: service,
	})
	if err != nil {
		t.Fatal(err)
	}
	record(t.Context(), otel.Tracer("nanoclaw/test"))
	if err := shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTreeShowsParentsChildrenAndOrderAcrossServices(t *testing.T) {
	c := otlptest.Start(t)
	carrier := propagation.MapCarrier{}
	var traceID string
	export(t, c, "orchestrator", func(ctx context.Context, tracer trace.Tracer) {
		ctx, turn := tracer.Start(ctx, "invoke_agent nanoclaw")
		defer turn.End()
		traceID = telemetry.TraceID(ctx)
		_, chat := tracer.Start(ctx, "chat glm-5", trace.WithSpanKind(trace.SpanKindClient))
		chat.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", 12))
		chat.End()
		toolCtx, tool := tracer.Start(ctx, "execute_tool web_search")
		tool.SetStatus(codes.Error, "no")
		propagation.TraceContext{}.Inject(toolCtx, carrier)
		tool.End()
	})
	export(t, c, "search", func(ctx context.Context, tracer trace.Tracer) {
		_, attempt := tracer.Start(propagation.TraceContext{}.Extract(ctx, carrier), "search.attempt")
		attempt.End()
		_, other := tracer.Start(ctx, "another trace")
		other.End()
	})

	c.RequireTree(t, traceID, `
		orchestrator | invoke_agent nanoclaw
		  orchestrator | chat glm-5
		  orchestrator | execute_tool web_search
		    search | search.attempt
	`)
	for _, s := range c.Spans() {
		switch s.Name {
		case "chat glm-5":
			if s.Kind != "client" || s.Attributes["gen_ai.usage.input_tokens"] != "12" || s.Scope != "nanoclaw/test" {
				t.Errorf("chat span = %+v", s)
			}
		case "execute_tool web_search":
			if !s.Error {
				t.Errorf("the failed tool's span is not an error: %+v", s)
			}
		}
	}
}

func TestSpanWithoutItsParentIsMarked(t *testing.T) {
	c := otlptest.Start(t)
	lost := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
	export(t, c, "search", func(ctx context.Context, tracer trace.Tracer) {
		_, s := tracer.Start(trace.ContextWithRemoteSpanContext(ctx, lost), "CallTool")
		s.End()
	})
	c.RequireTree(t, lost.TraceID().String(), "search | CallTool (parent missing)")
}

func TestWaitEndsWithItsContext(t *testing.T) {
	c := otlptest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Wait(ctx, func(s []otlptest.Span) bool { return len(s) > 0 }); err == nil {
		t.Error("Wait found spans that nobody sent")
	}
	export(t, c, "search", func(ctx context.Context, tracer trace.Tracer) {
		_, s := tracer.Start(ctx, "one")
		s.End()
	})
	if err := c.Wait(t.Context(), func(s []otlptest.Span) bool { return len(s) == 1 }); err != nil {
		t.Error(err)
	}
}
