package genai_test

import (
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/genai"
)

// Dashboards, samplers and Jaeger's UI know spans by these names: a change here
// is a change of a public contract.
func TestNamesArePinned(t *testing.T) {
	for want, got := range map[string]attribute.Key{
		"gen_ai.operation.name":                         genai.OperationName,
		"gen_ai.provider.name":                          genai.ProviderName,
		"gen_ai.conversation.id":                        genai.ConversationID,
		"error.type":                                    genai.ErrorType,
		"gen_ai.agent.id":                               genai.AgentID,
		"gen_ai.agent.name":                             genai.AgentName,
		"gen_ai.agent.version":                          genai.AgentVersion,
		"agent.episode_id":                              genai.AgentEpisodeID,
		"gen_ai.request.model":                          genai.RequestModel,
		"gen_ai.request.max_tokens":                     genai.RequestMaxTokens,
		"gen_ai.request.temperature":                    genai.RequestTemperature,
		"gen_ai.request.top_p":                          genai.RequestTopP,
		"gen_ai.request.stream":                         genai.RequestStream,
		"gen_ai.response.id":                            genai.ResponseID,
		"gen_ai.response.model":                         genai.ResponseModel,
		"gen_ai.response.finish_reasons":                genai.ResponseFinishReasons,
		"gen_ai.response.time_to_first_chunk":           genai.ResponseTimeToFirst,
		"gen_ai.usage.input_tokens":                     genai.UsageInputTokens,
		"gen_ai.usage.output_tokens":                    genai.UsageOutputTokens,
		"gen_ai.usage.cache_read.input_tokens":          genai.UsageCacheReadTokens,
		"gen_ai.usage.cache_creation.input_tokens":      genai.UsageCacheCreatedTokens,
		"gen_ai.usage.reasoning.output_tokens":          genai.UsageReasoningTokens,
		"gen_ai.tool.name":                              genai.ToolName,
		"gen_ai.tool.call.id":                           genai.ToolCallID,
		"gen_ai.tool.description":                       genai.ToolDescription,
		"gen_ai.tool.type":                              genai.ToolType,
		"gen_ai.input.messages":                         genai.InputMessages,
		"gen_ai.output.messages":                        genai.OutputMessages,
		"gen_ai.system_instructions":                    genai.SystemInstructions,
		"gen_ai.tool.definitions":                       genai.ToolDefinitions,
		"gen_ai.tool.call.arguments":                    genai.ToolCallArguments,
		"gen_ai.tool.call.result":                       genai.ToolCallResult,
		"gen_ai.token.type":                             genai.TokenType,
		"gen_ai.client.token.usage":                     genai.MetricTokenUsage,
		"gen_ai.client.operation.duration":              genai.MetricOperationDuration,
		"gen_ai.client.operation.time_to_first_chunk":   genai.MetricTimeToFirstChunk,
		"gen_ai.client.operation.time_per_output_chunk": genai.MetricTimePerChunk,
		"gen_ai.invoke_agent.duration":                  genai.MetricAgentDuration,
		"gen_ai.execute_tool.duration":                  genai.MetricToolDuration,
	} {
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSpanNames(t *testing.T) {
	for want, got := range map[string]string{
		"chat glm-5":              genai.ChatSpanName("glm-5"),
		"execute_tool web_search": genai.ExecuteToolSpanName("web_search"),
		"invoke_agent nanoclaw":   genai.InvokeAgentSpanName("nanoclaw"),
		"chat":                    genai.ChatSpanName(""),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBuckets(t *testing.T) {
	tokens, seconds := genai.TokenBuckets(), genai.DurationBuckets()
	if tokens[0] != 1 || tokens[13] != 67108864 || !slices.IsSorted(tokens) {
		t.Errorf("token buckets = %v, want 1 to 4^13", tokens)
	}
	if seconds[0] != 0.01 || seconds[13] != 81.92 || !slices.IsSorted(seconds) {
		t.Errorf("duration buckets = %v, want 0.01 to 81.92", seconds)
	}
}
