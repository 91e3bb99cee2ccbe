// Package genai holds the names of OpenTelemetry's GenAI semantic conventions
// that our spans and metrics use.
//
// The conventions live in open-telemetry/semantic-conventions-genai and are in
// status Development; Go's semconv packages have dropped them after v1.41. A
// name that changes there is changed here, in one place, and the test of this
// package pins it.
package genai

import "go.opentelemetry.io/otel/attribute"

// Operations, the values of OperationName.
const (
	OperationChat        = "chat"
	OperationExecuteTool = "execute_tool"
	OperationInvokeAgent = "invoke_agent"
)

// Attributes of every GenAI span.
const (
	// OperationName is required, and set when the span starts so that samplers
	// see it.
	OperationName = attribute.Key("gen_ai.operation.name")
	// ProviderName is required on chat spans: "openai", "zhipu", "ollama".
	ProviderName = attribute.Key("gen_ai.provider.name")
	// ConversationID is the id of the conversation.
	ConversationID = attribute.Key("gen_ai.conversation.id")
	// ErrorType is the reason of a failure, of few values; on failed spans only.
	ErrorType = attribute.Key("error.type")
)

// Values of ErrorType where no better one is known.
const (
	// ErrorTypeOther is any failure without a name.
	ErrorTypeOther = "_OTHER"
	// ErrorTypeTool is a tool's result that is an error.
	ErrorTypeTool = "tool_error"
)

// Attributes of invoke_agent spans.
const (
	AgentID      = attribute.Key("gen_ai.agent.id")
	AgentName    = attribute.Key("gen_ai.agent.name")
	AgentVersion = attribute.Key("gen_ai.agent.version")
	// AgentEpisodeID is not of the conventions: Jaeger's UI knows an agent's
	// span by it. Its value is the id of the run.
	AgentEpisodeID = attribute.Key("agent.episode_id")
)

// Attributes of chat spans.
const (
	RequestModel            = attribute.Key("gen_ai.request.model")
	RequestMaxTokens        = attribute.Key("gen_ai.request.max_tokens")
	RequestTemperature      = attribute.Key("gen_ai.request.temperature")
	RequestTopP             = attribute.Key("gen_ai.request.top_p")
	RequestStream           = attribute.Key("gen_ai.request.stream")
	ResponseID              = attribute.Key("gen_ai.response.id")
	ResponseModel           = attribute.Key("gen_ai.response.model")
	ResponseFinishReasons   = attribute.Key("gen_ai.response.finish_reasons")
	ResponseTimeToFirst     = attribute.Key("gen_ai.response.time_to_first_chunk") // seconds
	UsageInputTokens        = attribute.Key("gen_ai.usage.input_tokens")
	UsageOutputTokens       = attribute.Key("gen_ai.usage.output_tokens")
	UsageCacheReadTokens    = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	UsageCacheCreatedTokens = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	UsageReasoningTokens    = attribute.Key("gen_ai.usage.reasoning.output_tokens")
)

// Attributes of execute_tool spans.
const (
	ToolName        = attribute.Key("gen_ai.tool.name")
	ToolCallID      = attribute.Key("gen_ai.tool.call.id")
	ToolDescription = attribute.Key("gen_ai.tool.description")
	// ToolType is ToolTypeFunction for all tools of ours.
	ToolType         = attribute.Key("gen_ai.tool.type")
	ToolTypeFunction = "function"
)

// Content attributes. They hold what people and models wrote and are set only
// where the configuration asks for it.
const (
	InputMessages      = attribute.Key("gen_ai.input.messages")
	OutputMessages     = attribute.Key("gen_ai.output.messages")
	SystemInstructions = attribute.Key("gen_ai.system_instructions")
	ToolDefinitions    = attribute.Key("gen_ai.tool.definitions")
	ToolCallArguments  = attribute.Key("gen_ai.tool.call.arguments")
	ToolCallResult     = attribute.Key("gen_ai.tool.call.result")
)

// Metrics, with their units in UCUM.
const (
	MetricTokenUsage        = "gen_ai.client.token.usage"                     // {token}, by TokenType
	MetricOperationDuration = "gen_ai.client.operation.duration"              // s
	MetricTimeToFirstChunk  = "gen_ai.client.operation.time_to_first_chunk"   // s
	MetricTimePerChunk      = "gen_ai.client.operation.time_per_output_chunk" // s
	MetricAgentDuration     = "gen_ai.invoke_agent.duration"                  // s
	MetricToolDuration      = "gen_ai.execute_tool.duration"                  // s
	TokenType               = attribute.Key("gen_ai.token.type")              // of MetricTokenUsage
	TokenTypeInput          = "input"
	TokenTypeOutput         = "output"
)

// TokenBuckets are the histogram bounds of MetricTokenUsage: powers of 4.
func TokenBuckets() []float64 {
	bounds := make([]float64, 14)
	for i := range bounds {
		bounds[i] = float64(int64(1) << (2 * i))
	}
	return bounds
}

// DurationBuckets are the histogram bounds, in seconds, of the durations: 10 ms
// doubled up to 81.92 s.
func DurationBuckets() []float64 {
	bounds := make([]float64, 14)
	for i := range bounds {
		bounds[i] = float64(int64(1)<<i) / 100
	}
	return bounds
}

// ChatSpanName names the span of one model call; its kind is CLIENT.
func ChatSpanName(model string) string { return spanName(OperationChat, model) }

// ExecuteToolSpanName names the span of one tool call; its kind is INTERNAL.
func ExecuteToolSpanName(tool string) string { return spanName(OperationExecuteTool, tool) }

// InvokeAgentSpanName names the span of a run; its kind is INTERNAL.
func InvokeAgentSpanName(agent string) string { return spanName(OperationInvokeAgent, agent) }

func spanName(operation, target string) string {
	if target == "" {
		return operation
	}
	return operation + " " + target
}
