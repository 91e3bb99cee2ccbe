package engine

import (
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/dispatch"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/gate"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// The ladder for arguments that do not fit. The first time a tool is called with
// such, the model is told where they do not, what was expected and what came; from
// the second round on also the schema, cut down to what a call needs; and after the
// third in a row judge calls no more tools.

// simplified is the member of a refusal that has the schema.
const simplified = "simplified_schema"

// refused answers a call that the gate does not let through.
func (t *turn) refused(c schema.ToolCall, d gate.Decision) dispatch.Outcome {
	out := dispatch.Outcome{Content: result.Failure(d.Reason, d.Message, d.Verdict == gate.Reject), IsError: true, Reason: d.Reason}
	if d.Reason == gate.ReasonBadArguments && mistaken(t.rounds, c) {
		out.Content = result.WithMember(out.Content, simplified, provider.SimplifySchema(d.Tool.Parameters))
	}
	return out
}

// mistaken reports whether the tool was called with arguments that did not fit in
// a round before that of the call.
func mistaken(rounds []prompt.Round, c schema.ToolCall) bool {
	for _, r := range rounds {
		if r.Call.Round >= c.Round {
			return false
		}
		for _, other := range r.Tools {
			if other.Name == c.Name && other.Reason == gate.ReasonBadArguments {
				return true
			}
		}
	}
	return false
}
