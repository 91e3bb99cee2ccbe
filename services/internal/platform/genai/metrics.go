package genai

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scope is the instrumentation scope of the metrics.
const scope = "nanoclaw/genai"

// Chat is a model call that has ended.
type Chat struct {
	Provider string // as in ProviderName
	Model    string // as in RequestModel
	Took     time.Duration
	// ToFirstChunk is from the request to the first piece of the answer; zero
	// when there was none.
	ToFirstChunk time.Duration
	// InputTokens and OutputTokens that were used; zeros when nobody knows.
	InputTokens, OutputTokens int
	// ErrorType is a failed call's reason, of few values; empty: it succeeded.
	ErrorType string
}

// RecordChat counts a model call.
func RecordChat(ctx context.Context, c Chat) {
	about := []attribute.KeyValue{
		OperationName.String(OperationChat), ProviderName.String(c.Provider), RequestModel.String(c.Model),
	}
	if c.InputTokens > 0 || c.OutputTokens > 0 {
		used := tokens()
		used.Record(ctx, int64(c.InputTokens), metric.WithAttributes(append(about, TokenType.String(TokenTypeInput))...))
		used.Record(ctx, int64(c.OutputTokens), metric.WithAttributes(append(about, TokenType.String(TokenTypeOutput))...))
	}
	if c.ToFirstChunk > 0 {
		seconds(MetricTimeToFirstChunk, "From a model call to the first piece of its answer.").
			Record(ctx, c.ToFirstChunk.Seconds(), metric.WithAttributes(about...))
	}
	seconds(MetricOperationDuration, "How long model calls take.").
		Record(ctx, c.Took.Seconds(), metric.WithAttributes(withError(about, c.ErrorType)...))
}

// RecordTool counts a tool call that has ended. errorType is of few values;
// empty: it succeeded.
func RecordTool(ctx context.Context, tool string, took time.Duration, errorType string) {
	about := []attribute.KeyValue{OperationName.String(OperationExecuteTool), ToolName.String(tool)}
	seconds(MetricToolDuration, "How long tool calls take.").
		Record(ctx, took.Seconds(), metric.WithAttributes(withError(about, errorType)...))
}

// RecordAgent counts a run that has come to its end. errorType is of few values;
// empty: it did not fail.
func RecordAgent(ctx context.Context, agent, model string, took time.Duration, errorType string) {
	about := []attribute.KeyValue{
		OperationName.String(OperationInvokeAgent), AgentName.String(agent), RequestModel.String(model),
	}
	seconds(MetricAgentDuration, "How long runs take.").
		Record(ctx, took.Seconds(), metric.WithAttributes(withError(about, errorType)...))
}

func withError(about []attribute.KeyValue, errorType string) []attribute.KeyValue {
	if errorType == "" {
		return about
	}
	return append(about, ErrorType.String(errorType))
}

// Instruments are taken at each use, as tracers are, so that they are those of
// the provider that is set up by then; a meter finds what it has made before.

func seconds(name, description string) metric.Float64Histogram {
	h, err := otel.Meter(scope).Float64Histogram(name, metric.WithUnit("s"),
		metric.WithDescription(description), metric.WithExplicitBucketBoundaries(DurationBuckets()...))
	if err != nil {
		otel.Handle(err) // h works or does nothing
	}
	return h
}

func tokens() metric.Int64Histogram {
	h, err := otel.Meter(scope).Int64Histogram(MetricTokenUsage, metric.WithUnit("{token}"),
		metric.WithDescription("Tokens that model calls use, by type."), metric.WithExplicitBucketBoundaries(TokenBuckets()...))
	if err != nil {
		otel.Handle(err)
	}
	return h
}
