package dispatch

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/codes"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/genai"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/tooltest"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// Every value of a label is a series that Prometheus keeps: what strangers write
// must not become one.
func TestMetricsCountFailuresUnderNamesOfOurs(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })

	refuse := func(*toolv1.CallToolRequest, stream) error {
		return toolkit.StatusError(codes.FailedPrecondition, "ANY_WORD", "no")
	}
	isError := func(_ *toolv1.CallToolRequest, s stream) error {
		return s.Send(&toolv1.CallToolResponse{Event: &toolv1.CallToolResponse_Result{Result: &toolv1.Result{ContentJson: `{}`, IsError: true}}})
	}
	succeed := func(_ *toolv1.CallToolRequest, s stream) error { return s.Send(answer(`{}`)) }
	want := map[string]uint64{}
	for _, c := range []struct {
		do      func(*toolv1.CallToolRequest, stream) error
		foreign bool
		counted string
	}{
		{succeed, false, ""},
		{succeed, true, ""},
		{isError, false, genai.ErrorTypeTool},
		{isError, true, genai.ErrorTypeTool},
		{refuse, false, "ANY_WORD"},
		{refuse, true, genai.ErrorTypeOther},
	} {
		call := aCall(tooltest.Serve(t, &tooltest.Raw{Call: c.do}), "pure", time.Minute)
		call.Tool.Provider.Foreign = c.foreign
		Do(t.Context(), call, nil)
		want[c.counted]++
	}

	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			data, ok := m.Data.(metricdata.Histogram[float64])
			if !ok || m.Name != genai.MetricToolDuration {
				continue
			}
			for _, p := range data.DataPoints {
				if tool, _ := p.Attributes.Value(genai.ToolName); tool.AsString() != "far__work" {
					t.Errorf("counted for the tool %q", tool.AsString())
				}
				failed, _ := p.Attributes.Value(genai.ErrorType)
				got[failed.AsString()] += p.Count
			}
		}
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("counted under %q: %d calls, want %d", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("counted under %v, want %v", got, want)
	}
}
