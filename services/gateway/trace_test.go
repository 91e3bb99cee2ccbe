package gateway_test

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nanoclaw/nanoclaw/services/gateway"
)

func TestSpansAreNamedByRouteAndBeginTheirOwnTrace(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	t.Cleanup(func() { _ = provider.Shutdown(t.Context()) })
	f := newFixture(t, nil, func(_ *gateway.Config, d *gateway.Deps) { d.TracerProvider = provider })
	const foreign = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, tc := range []struct{ method, path, body, span string }{
		{"POST", "/api/conversations", `{}`, "POST /api/conversations"},
		{"DELETE", "/api/conversations/c1", "", "DELETE /api/conversations/{conversation_id}"},
		{"POST", "/api/conversations/c1/messages", `{"content":"hi"}`, "POST /api/conversations/{conversation_id}/messages"},
		{"GET", "/api/runs/r1/events", "", "GET /api/runs/{run_id}/events"},
		{"GET", "/docs", "", "GET /docs"},
		{"GET", "/anything", "", "GET /*"},
	} {
		t.Run(tc.span, func(t *testing.T) {
			spans.Reset()
			r := f.request(t, tc.method, tc.path, tc.body)
			r.Header.Set("Traceparent", "00-"+foreign+"-00f067aa0ba902b7-01")
			r.Header.Set("X-Request-Id", "req-1")
			got := do(t, r)
			trace := got.Header.Get("X-Trace-Id")
			if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(trace) || trace == foreign {
				t.Errorf("X-Trace-Id = %q", trace)
			}
			if tp := got.Header.Get("Traceparent"); !strings.HasPrefix(tp, "00-"+trace+"-") {
				t.Errorf("Traceparent = %q", tp)
			}
			if id := got.Header.Get("X-Request-Id"); id != "req-1" {
				t.Errorf("X-Request-Id = %q", id)
			}
			all := spans.GetSpans()
			if len(all) != 1 || all[0].Name != tc.span || all[0].SpanContext.TraceID().String() != trace {
				t.Fatalf("spans = %+v", all)
			}
			s := all[0]
			if s.Parent.IsValid() || len(s.Links) != 1 || s.Links[0].SpanContext.TraceID().String() != foreign {
				t.Errorf("parent %v, links %v", s.Parent, s.Links)
			}
			route := attribute.String("http.route", strings.TrimPrefix(tc.span, tc.method+" "))
			found := false
			for _, a := range s.Attributes {
				found = found || a == route
				if strings.Contains(a.Value.String(), goodToken) {
					t.Errorf("the span holds the token: %v", a)
				}
			}
			if !found {
				t.Errorf("attributes %v lack %v", s.Attributes, route)
			}
		})
	}
	t.Run("a failure says its trace", func(t *testing.T) {
		got := do(t, f.request(t, "GET", "/api/nothing", ""))
		if e := mustFail(t, got, 404, "NOT_FOUND"); *e.TraceID != got.Header.Get("X-Trace-Id") || *e.TraceID == "" {
			t.Errorf("trace_id = %q, header %q", *e.TraceID, got.Header.Get("X-Trace-Id"))
		}
	})
	t.Run("health is not traced", func(t *testing.T) {
		spans.Reset()
		_, _ = io.WriteString(io.Discard, do(t, f.request(t, "GET", "/healthz", "")).body)
		if n := len(spans.GetSpans()); n != 0 {
			t.Errorf("%d spans", n)
		}
	})
	t.Run("an odd request id is replaced", func(t *testing.T) {
		r := f.request(t, "GET", "/healthz", "")
		r.Header.Set("X-Request-Id", "a b<script>")
		if id := do(t, r).Header.Get("X-Request-Id"); !regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`).MatchString(id) {
			t.Errorf("X-Request-Id = %q", id)
		}
	})
}
