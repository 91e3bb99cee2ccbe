// Package otlptest is an OpenTelemetry collector for tests: it takes spans by
// OTLP over gRPC on loopback, keeps them, and shows a trace as a tree of text
// that a test compares with the one it wants.
package otlptest

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// Span is a span as the collector got it. Ids are in hex.
type Span struct {
	TraceID, SpanID string
	// ParentID is empty for a root.
	ParentID string
	// Service is the resource's service.name, Scope the tracer's name.
	Service, Scope string
	Name           string
	// Kind is "internal", "server", "client", "producer" or "consumer".
	Kind       string
	Attributes map[string]string
	// Error says that the span's status is an error.
	Error      bool
	start, end uint64 // Unix nanoseconds
}

// Collector is a running collector.
type Collector struct {
	collectorv1.UnimplementedTraceServiceServer

	addr string

	mu      sync.Mutex
	spans   []Span
	changed chan struct{} // closed and replaced when spans arrive
}

// Start runs a collector until the test ends.
func Start(t testing.TB) *Collector {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("collector: %v", err)
	}
	c := &Collector{addr: lis.Addr().String(), changed: make(chan struct{})}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("collector: %v", err)
		}
	})
	return c
}

// Endpoint is the "host:port" to export to.
func (c *Collector) Endpoint() string { return c.addr }

// Export takes spans; it is called by exporters.
func (c *Collector) Export(_ context.Context, req *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range req.GetResourceSpans() {
		service := attributes(resource.GetResource().GetAttributes())["service.name"]
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, Span{
					TraceID:    hex.EncodeToString(s.GetTraceId()),
					SpanID:     hex.EncodeToString(s.GetSpanId()),
					ParentID:   hex.EncodeToString(s.GetParentSpanId()),
					Service:    service,
					Scope:      scope.GetScope().GetName(),
					Name:       s.GetName(),
					Kind:       kinds[s.GetKind()],
					Attributes: attributes(s.GetAttributes()),
					Error:      s.GetStatus().GetCode() == tracev1.Status_STATUS_CODE_ERROR,
					start:      s.GetStartTimeUnixNano(),
					end:        s.GetEndTimeUnixNano(),
				})
			}
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// Spans are all spans so far, in the order of their starts.
func (c *Collector) Spans() []Span {
	spans, _ := c.snapshot()
	return spans
}

func (c *Collector) snapshot() ([]Span, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := slices.Clone(c.spans)
	slices.SortStableFunc(spans, byStart)
	return spans, c.changed
}

// Wait returns when the spans satisfy done, or with an error when ctx ends
// first. Exporters send in batches: a process under test is asked to flush, or
// waited for.
func (c *Collector) Wait(ctx context.Context, done func([]Span) bool) error {
	for {
		spans, changed := c.snapshot()
		if done(spans) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for spans, %d so far: %w", len(spans), ctx.Err())
		}
	}
}

var kinds = map[tracev1.Span_SpanKind]string{
	tracev1.Span_SPAN_KIND_INTERNAL: "internal",
	tracev1.Span_SPAN_KIND_SERVER:   "server",
	tracev1.Span_SPAN_KIND_CLIENT:   "client",
	tracev1.Span_SPAN_KIND_PRODUCER: "producer",
	tracev1.Span_SPAN_KIND_CONSUMER: "consumer",
}

func attributes(pairs []*commonv1.KeyValue) map[string]string {
	m := make(map[string]string, len(pairs))
	for _, kv := range pairs {
		m[kv.GetKey()] = text(kv.GetValue())
	}
	return m
}

func text(v *commonv1.AnyValue) string {
	switch x := v.GetValue().(type) {
	case *commonv1.AnyValue_StringValue:
		return x.StringValue
	case *commonv1.AnyValue_BoolValue:
		return fmt.Sprint(x.BoolValue)
	case *commonv1.AnyValue_IntValue:
		return fmt.Sprint(x.IntValue)
	case *commonv1.AnyValue_DoubleValue:
		return fmt.Sprint(x.DoubleValue)
	case *commonv1.AnyValue_ArrayValue:
		items := make([]string, len(x.ArrayValue.GetValues()))
		for i, item := range x.ArrayValue.GetValues() {
			items[i] = text(item)
		}
		return fmt.Sprint(items)
	}
	return ""
}
