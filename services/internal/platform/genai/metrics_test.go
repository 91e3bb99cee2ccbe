package genai_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/genai"
)

// recorded are the metrics that do made: "name unit {attributes}" to the sum of
// what was recorded.
func recorded(t *testing.T, do func()) map[string]float64 {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	do()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	key := func(m metricdata.Metrics, set attribute.Set) string {
		return fmt.Sprintf("%s %s {%s}", m.Name, m.Unit, set.Encoded(attribute.DefaultEncoder()))
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					got[key(m, p.Attributes)] += p.Sum
					if !slices.Equal(p.Bounds, genai.DurationBuckets()) {
						t.Errorf("%s: buckets %v", m.Name, p.Bounds)
					}
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					got[key(m, p.Attributes)] += float64(p.Sum)
					if !slices.Equal(p.Bounds, genai.TokenBuckets()) {
						t.Errorf("%s: buckets %v", m.Name, p.Bounds)
					}
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	return got
}

func TestWhatIsRecorded(t *testing.T) {
	const chat = "gen_ai.operation.name=chat,gen_ai.provider.name=zhipu,gen_ai.request.model=glm-5"
	for _, tc := range []struct {
		name string
		do   func()
		want map[string]float64
	}{
		{"a model call that succeeded", func() {
			genai.RecordChat(t.Context(), genai.Chat{Provider: "zhipu", Model: "glm-5", Took: 2 * time.Second,
				ToFirstChunk: 500 * time.Millisecond, InputTokens: 120, OutputTokens: 30})
		}, map[string]float64{
			"gen_ai.client.token.usage {token} {" + chat + ",gen_ai.token.type=input}":  120,
			"gen_ai.client.token.usage {token} {" + chat + ",gen_ai.token.type=output}": 30,
			"gen_ai.client.operation.duration s {" + chat + "}":                         2,
			"gen_ai.client.operation.time_to_first_chunk s {" + chat + "}":              0.5,
		}},
		{"a model call that failed before its answer", func() {
			genai.RecordChat(t.Context(), genai.Chat{Provider: "zhipu", Model: "glm-5", Took: time.Second, ErrorType: "rate_limited"})
		}, map[string]float64{
			"gen_ai.client.operation.duration s {error.type=rate_limited," + chat + "}": 1,
		}},
		{"calls add up", func() {
			for range 2 {
				genai.RecordTool(t.Context(), "web_search", time.Second, "")
			}
			genai.RecordTool(t.Context(), "web_search", time.Second, genai.ErrorTypeTool)
		}, map[string]float64{
			"gen_ai.execute_tool.duration s {gen_ai.operation.name=execute_tool,gen_ai.tool.name=web_search}":                       2,
			"gen_ai.execute_tool.duration s {error.type=tool_error,gen_ai.operation.name=execute_tool,gen_ai.tool.name=web_search}": 1,
		}},
		{"runs", func() {
			genai.RecordAgent(t.Context(), "nanoclaw", "glm-5", 4*time.Second, "")
			genai.RecordAgent(t.Context(), "nanoclaw", "glm-5", 8*time.Second, "RUN_TIMEOUT")
		}, map[string]float64{
			"gen_ai.invoke_agent.duration s {gen_ai.agent.name=nanoclaw,gen_ai.operation.name=invoke_agent,gen_ai.request.model=glm-5}":                        4,
			"gen_ai.invoke_agent.duration s {error.type=RUN_TIMEOUT,gen_ai.agent.name=nanoclaw,gen_ai.operation.name=invoke_agent,gen_ai.request.model=glm-5}": 8,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := recorded(t, tc.do); !maps.Equal(got, tc.want) {
				t.Errorf("got  %v\nwant %v", got, tc.want)
			}
		})
	}
}

func BenchmarkRecordTool(b *testing.B) {
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())))
	b.Cleanup(func() { otel.SetMeterProvider(before) })
	for b.Loop() {
		genai.RecordTool(b.Context(), "web_search", time.Second, "")
	}
}
