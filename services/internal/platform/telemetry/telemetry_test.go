package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func setup(t *testing.T, cfg telemetry.Config) (shutdown func(context.Context) error, metrics func() string) {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	shutdown, handler, err := telemetry.Setup(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shutdown(context.Background()); err != nil {
			t.Errorf("shutdown, the last time: %v", err)
		}
	})
	return shutdown, func() string {
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
		return rec.Body.String()
	}
}

func TestTraceIDIsMadeEvenWhenNothingIsExported(t *testing.T) {
	setup(t, telemetry.Config{})
	ctx, span := otel.Tracer("t").Start(t.Context(), "turn")
	defer span.End()
	id := telemetry.TraceID(ctx)
	if len(id) != 32 || id == strings.Repeat("0", 32) {
		t.Errorf("trace id = %q", id)
	}
	if span.IsRecording() || span.SpanContext().IsSampled() {
		t.Error("a span that goes nowhere must not be recorded")
	}
	child, _ := otel.Tracer("t").Start(ctx, "chat")
	if telemetry.TraceID(child) != id {
		t.Errorf("the child's trace id = %q, want %q", telemetry.TraceID(child), id)
	}
	if got := telemetry.TraceID(t.Context()); got != "" {
		t.Errorf("trace id without a span = %q, want none", got)
	}
}

func TestSpansReachTheExporterWithTheServiceTheyComeFrom(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	setup(t, telemetry.Config{SpanExporter: kept, ServiceName: "search", ServiceVersion: "1.2.3"})
	_, span := otel.Tracer("t").Start(t.Context(), "search.attempt")
	span.End()
	spans := kept.GetSpans()
	if len(spans) != 1 || spans[0].Name != "search.attempt" {
		t.Fatalf("spans = %v", spans)
	}
	about := spans[0].Resource.String()
	if !strings.Contains(about, "service.name=search") || !strings.Contains(about, "service.version=1.2.3") {
		t.Errorf("resource = %s", about)
	}
}

func TestStdoutExporterWritesOnShutdown(t *testing.T) {
	var out bytes.Buffer
	shutdown, _ := setup(t, telemetry.Config{Exporter: telemetry.ExporterStdout, Writer: &out})
	_, span := otel.Tracer("t").Start(t.Context(), "chat glm-5")
	span.End()
	if err := shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"Name":"chat glm-5"`) {
		t.Errorf("stdout = %s", out.String())
	}
}

func TestSampleRatioIsForTracesBegunHereOnly(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	setup(t, telemetry.Config{SpanExporter: kept, SampleRatio: 1e-12})
	_, own := otel.Tracer("t").Start(t.Context(), "own")
	own.End()
	remote := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
	_, theirs := otel.Tracer("t").Start(trace.ContextWithRemoteSpanContext(t.Context(), remote), "theirs")
	theirs.End()
	spans := kept.GetSpans()
	if len(spans) != 1 || spans[0].Name != "theirs" {
		t.Errorf("spans = %v, want only the one that a caller had sampled", spans)
	}
}

func TestPropagatorsCarryTraceAndBaggage(t *testing.T) {
	setup(t, telemetry.Config{})
	ctx, span := otel.Tracer("t").Start(t.Context(), "turn")
	defer span.End()
	carrier := propagation.MapCarrier{}
	otel.GetTextMapPropagator().Inject(ctx, carrier)
	if got := carrier["traceparent"]; !strings.Contains(got, telemetry.TraceID(ctx)) {
		t.Errorf("traceparent = %q", got)
	}
	if fields := otel.GetTextMapPropagator().Fields(); !strings.Contains(strings.Join(fields, " "), "baggage") {
		t.Errorf("fields = %v, want baggage among them", fields)
	}
}

func TestMetricsAreServedToPrometheus(t *testing.T) {
	_, scrape := setup(t, telemetry.Config{ServiceName: "search"})
	counter, err := otel.Meter("t").Int64Counter("nanoclaw.search.queries")
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(t.Context(), 3)
	text := scrape()
	for _, want := range []string{"nanoclaw_search_queries_total{", "} 3\n", `service_name="search"`, "go_goroutines "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
}

func TestShutdownPutsTheFormerGlobalsBack(t *testing.T) {
	mine := sdktrace.NewTracerProvider()
	otel.SetTracerProvider(mine)
	first, _ := setup(t, telemetry.Config{})
	if otel.GetTracerProvider() == trace.TracerProvider(mine) {
		t.Fatal("Setup did not set the provider")
	}
	if err := first(t.Context()); err != nil {
		t.Fatal(err)
	}
	if otel.GetTracerProvider() != trace.TracerProvider(mine) {
		t.Error("the former provider is not back")
	}
	second, _ := setup(t, telemetry.Config{})
	current := otel.GetTracerProvider()
	if err := first(t.Context()); err != nil {
		t.Errorf("a second shutdown: %v", err)
	}
	if otel.GetTracerProvider() != current {
		t.Error("the second shutdown of one Setup took the provider of another away")
	}
	if err := second(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestConfigThatMakesNoSense(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  telemetry.Config
		want string
	}{
		{"an unknown exporter", telemetry.Config{Exporter: "jaeger"}, `exporter is "jaeger", want none, stdout or otlp`},
		{"a ratio over 1", telemetry.Config{SampleRatio: 1.5}, "sample ratio is 1.5, want 0 to 1"},
		{"a negative ratio", telemetry.Config{SampleRatio: -0.1}, "sample ratio is -0.1, want 0 to 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := telemetry.Setup(t.Context(), tc.cfg)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestAnUnreachableCollectorIsSaidInTheLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	shutdown, _, err := telemetry.Setup(t.Context(), telemetry.Config{
		Exporter: telemetry.ExporterOTLP, OTLPEndpoint: "127.0.0.1:1", Logger: log,
	})
	if err != nil {
		t.Fatalf("Setup must not need the collector: %v", err)
	}
	_, span := otel.Tracer("t").Start(t.Context(), "turn")
	span.End()
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := shutdown(soon); err == nil && out.Len() == 0 {
		t.Error("spans were lost without a word")
	}
}

func TestLogLinesCarryTheTrace(t *testing.T) {
	setup(t, telemetry.Config{})
	ctx, span := otel.Tracer("t").Start(t.Context(), "turn")
	defer span.End()
	for _, tc := range []struct {
		name string
		log  func(*slog.Logger)
		want map[string]any // without time, level, trace_id, span_id
		none bool           // no ids wanted
	}{
		{"a plain line", func(l *slog.Logger) { l.InfoContext(ctx, "m", "a", 1) }, map[string]any{"msg": "m", "a": 1.0}, false},
		{"attributes of the logger", func(l *slog.Logger) { l.With("svc", "x").InfoContext(ctx, "m") }, map[string]any{"msg": "m", "svc": "x"}, false},
		{"ids stay outside of groups", func(l *slog.Logger) { l.With("svc", "x").WithGroup("g").With("b", 2).InfoContext(ctx, "m", "a", 1) },
			map[string]any{"msg": "m", "svc": "x", "g": map[string]any{"a": 1.0, "b": 2.0}}, false},
		{"an empty group name is no group", func(l *slog.Logger) { l.WithGroup("").InfoContext(ctx, "m", "a", 1) }, map[string]any{"msg": "m", "a": 1.0}, false},
		{"no trace, no ids", func(l *slog.Logger) { l.Info("m") }, map[string]any{"msg": "m"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			log, err := telemetry.NewLogger(&out, slog.LevelInfo, telemetry.FormatJSON)
			if err != nil {
				t.Fatal(err)
			}
			tc.log(log)
			var line map[string]any
			if err := json.Unmarshal(out.Bytes(), &line); err != nil {
				t.Fatalf("%v in %s", err, out.String())
			}
			wantTrace, wantSpan := any(span.SpanContext().TraceID().String()), any(span.SpanContext().SpanID().String())
			if tc.none {
				wantTrace, wantSpan = nil, nil
			}
			if line["trace_id"] != wantTrace || line["span_id"] != wantSpan {
				t.Errorf("trace_id %v, span_id %v; want %v, %v", line["trace_id"], line["span_id"], wantTrace, wantSpan)
			}
			for _, k := range []string{"time", "level", "trace_id", "span_id"} {
				delete(line, k)
			}
			got, _ := json.Marshal(line)
			want, _ := json.Marshal(tc.want)
			if string(got) != string(want) {
				t.Errorf("line = %s, want %s", got, want)
			}
		})
	}
}

func TestLoggerLevelsAndFormats(t *testing.T) {
	var out bytes.Buffer
	log, err := telemetry.NewLogger(&out, slog.LevelWarn, telemetry.FormatText)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("quiet")
	log.WithGroup("g").Info("quiet")
	log.Warn("loud")
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, "level=WARN msg=loud") {
		t.Errorf("log = %q", got)
	}
	if _, err := telemetry.NewLogger(io.Discard, slog.LevelInfo, "xml"); err == nil || errors.Unwrap(err) != nil {
		t.Errorf("an unknown format: %v", err)
	}
}
