package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// Exporters of spans.
const (
	// ExporterNone makes trace ids and drops the spans; it costs next to
	// nothing.
	ExporterNone = "none"
	// ExporterStdout writes spans as JSON to Config.Writer.
	ExporterStdout = "stdout"
	// ExporterOTLP sends spans by OTLP over gRPC, to Jaeger or a collector.
	ExporterOTLP = "otlp"
)

const (
	// DefaultServiceName is the service.name of a process that runs every
	// service.
	DefaultServiceName = "nanoclaw"
	// DefaultOTLPEndpoint is where Jaeger and collectors listen.
	DefaultOTLPEndpoint = "127.0.0.1:4317"
	// DefaultSampleRatio exports every trace.
	DefaultSampleRatio = 1.0
)

// Config configures [Setup]. The zero value exports nothing.
type Config struct {
	// Exporter is ExporterNone, ExporterStdout or ExporterOTLP; empty means
	// none.
	Exporter string
	// OTLPEndpoint is "host:port" without TLS, or a URL: http:// without, https://
	// with TLS. Empty means DefaultOTLPEndpoint.
	OTLPEndpoint string
	// ServiceName and ServiceVersion say who makes the spans. An empty name
	// means DefaultServiceName.
	ServiceName    string
	ServiceVersion string
	// SampleRatio is the share of traces begun here that is exported, over 0 up
	// to 1; 0 means DefaultSampleRatio. A trace begun elsewhere keeps what was
	// decided there.
	SampleRatio float64
	// Writer takes the spans of ExporterStdout. Nil means os.Stdout.
	Writer io.Writer
	// SpanExporter takes every span as it ends, whatever Exporter says; for
	// tests.
	SpanExporter sdktrace.SpanExporter
	// Logger hears of telemetry's own failures, such as a collector that cannot
	// be reached. Nil means slog.Default.
	Logger *slog.Logger
}

// DefaultConfig is what a process has unless the configuration says otherwise.
func DefaultConfig() Config {
	return Config{
		Exporter:     ExporterNone,
		OTLPEndpoint: DefaultOTLPEndpoint,
		ServiceName:  DefaultServiceName,
		SampleRatio:  DefaultSampleRatio,
	}
}

func (c Config) complete() (Config, error) {
	var errs []error
	switch c.Exporter {
	case "":
		c.Exporter = ExporterNone
	case ExporterNone, ExporterStdout, ExporterOTLP:
	default:
		errs = append(errs, fmt.Errorf("exporter is %q, want %s, %s or %s", c.Exporter, ExporterNone, ExporterStdout, ExporterOTLP))
	}
	if !(c.SampleRatio >= 0 && c.SampleRatio <= 1) {
		errs = append(errs, fmt.Errorf("sample ratio is %g, want 0 to 1", c.SampleRatio))
	}
	if c.SampleRatio == 0 {
		c.SampleRatio = DefaultSampleRatio
	}
	if c.OTLPEndpoint == "" {
		c.OTLPEndpoint = DefaultOTLPEndpoint
	}
	if !strings.Contains(c.OTLPEndpoint, "://") {
		c.OTLPEndpoint = "http://" + c.OTLPEndpoint
	}
	if c.ServiceName == "" {
		c.ServiceName = DefaultServiceName
	}
	if c.Writer == nil {
		c.Writer = os.Stdout
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, errors.Join(errs...)
}

// Setup makes the process's tracer and meter providers and sets them as the
// global ones of package otel, with the W3C trace context and baggage
// propagators and an error handler that logs: that is all the global state
// there is. metrics serves what Prometheus scrapes. shutdown sends what is left,
// within its context, and puts the former globals back; it must be called, and
// more than once does no harm.
//
// A collector that cannot be reached is not an error here: spans are dropped,
// and said so in the log, until it can.
//
// Code that wants a tracer asks otel.Tracer when it is built or used, after
// Setup: one kept in a package variable stays with the first provider ever set.
func Setup(ctx context.Context, cfg Config) (shutdown func(context.Context) error, metrics http.Handler, err error) {
	cfg, err = cfg.complete()
	if err != nil {
		return nil, nil, fmt.Errorf("telemetry configuration: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(), // OTEL_RESOURCE_ATTRIBUTES; what we know ourselves wins
		resource.WithAttributes(semconv.ServiceName(cfg.ServiceName), semconv.ServiceVersion(cfg.ServiceVersion)),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("telemetry: describe the process: %w", err)
	}
	meters, metrics, err := newMetrics(about)
	if err != nil {
		return nil, nil, err
	}
	exporter, err := newExporter(ctx, cfg)
	if err != nil {
		return nil, nil, errors.Join(err, meters.Shutdown(ctx))
	}
	tracers := newTracers(cfg, about, exporter)
	restore := setGlobals(tracers, meters, cfg.Logger)
	return func(ctx context.Context) error {
		restore()
		errs := []error{tracers.Shutdown(ctx), ignoreSecond(meters.Shutdown(ctx))}
		if exporter != nil {
			// A tracer provider that runs out of time leaves its exporter trying.
			errs = append(errs, exporter.Shutdown(ctx))
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("telemetry: send what is left: %w", err)
		}
		return nil
	}, metrics, nil
}

// ignoreSecond forgives a meter provider that is already shut down; a tracer
// provider does not mind.
func ignoreSecond(err error) error {
	if errors.Is(err, sdkmetric.ErrReaderShutdown) {
		return nil
	}
	return err
}

func newMetrics(about *resource.Resource) (*sdkmetric.MeterProvider, http.Handler, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := promexporter.New(promexporter.WithRegisterer(registry))
	if err != nil {
		return nil, nil, fmt.Errorf("telemetry: metrics: %w", err)
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(about))
	// OpenMetrics is the format that can carry exemplars, which lead from a slow
	// bucket to a trace.
	return provider, promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}), nil
}

// newExporter is the configured exporter, nil for none.
func newExporter(ctx context.Context, cfg Config) (sdktrace.SpanExporter, error) {
	switch cfg.Exporter {
	case ExporterStdout:
		exporter, err := stdouttrace.New(stdouttrace.WithWriter(cfg.Writer))
		if err != nil {
			return nil, fmt.Errorf("telemetry: stdout exporter: %w", err)
		}
		return exporter, nil
	case ExporterOTLP:
		exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(cfg.OTLPEndpoint))
		if err != nil {
			return nil, fmt.Errorf("telemetry: OTLP exporter to %s: %w", cfg.OTLPEndpoint, err)
		}
		return exporter, nil
	}
	return nil, nil
}

func newTracers(cfg Config, about *resource.Resource, exporter sdktrace.SpanExporter) *sdktrace.TracerProvider {
	opts := []sdktrace.TracerProviderOption{sdktrace.WithResource(about)}
	sampler := sdktrace.NeverSample() // spans still have ids
	if exporter != nil {
		opts = append(opts, sdktrace.WithBatcher(exporter))
	}
	if cfg.SpanExporter != nil {
		opts = append(opts, sdktrace.WithSyncer(cfg.SpanExporter))
	}
	if exporter != nil || cfg.SpanExporter != nil {
		sampler = sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.SampleRatio))
	}
	return sdktrace.NewTracerProvider(append(opts, sdktrace.WithSampler(sampler))...)
}

func setGlobals(tracers *sdktrace.TracerProvider, meters *sdkmetric.MeterProvider, log *slog.Logger) (restore func()) {
	oldTracers, oldMeters := otel.GetTracerProvider(), otel.GetMeterProvider()
	oldPropagator, oldHandler := otel.GetTextMapPropagator(), otel.GetErrorHandler()
	otel.SetTracerProvider(tracers)
	otel.SetMeterProvider(meters)
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.LogAttrs(context.Background(), slog.LevelWarn, "telemetry", slog.String("error", err.Error()))
	}))
	return func() {
		if otel.GetTracerProvider() != any(tracers) {
			return // done before, or somebody else's turn
		}
		otel.SetTracerProvider(oldTracers)
		otel.SetMeterProvider(oldMeters)
		otel.SetTextMapPropagator(oldPropagator)
		otel.SetErrorHandler(oldHandler)
	}
}
