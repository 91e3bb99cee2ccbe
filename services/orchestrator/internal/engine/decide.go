package engine

import (
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// Why a run may call no more tools.
const (
	finishStop      = "stop"
	finishLimit     = "limit"
	finishBreaker   = "breaker"
	finishLength    = "length"
	finishCancelled = "cancelled"
)

// verdict says whether a run may call tools in its next round.
type verdict struct {
	reason string // finishLimit or finishBreaker; empty: it may
	tool   string // that tripped the breaker
	equal  bool   // it was tripped by equal calls, not by failures
}

// judge looks at the rounds of a run. It is a pure function of what is stored,
// so it says the same after a takeover.
func judge(rounds []prompt.Round, tools *registry.Snapshot, cfg Config) verdict {
	withTools := 0
	failed := map[string]int{} // rounds in a row in which every call failed
	type call struct{ name, hash string }
	equal := map[call]int{} // rounds that made the call
	for _, r := range rounds {
		if len(r.Tools) == 0 {
			continue
		}
		withTools++
		allFailed := map[string]bool{}
		seen := map[call]bool{}
		for _, t := range r.Tools {
			before, known := allFailed[t.Name]
			allFailed[t.Name] = t.IsError && (before || !known)
			seen[call{t.Name, t.ArgsSHA256}] = true
		}
		for name, all := range allFailed {
			if all {
				failed[name]++
			} else {
				failed[name] = 0
			}
		}
		for c := range seen {
			if tool := tools.Get(c.name); tool == nil || !tool.Polling {
				equal[c]++
			}
		}
	}
	last := lastTools(rounds)
	for _, t := range last { // in the order of the calls, so that one name is always the same
		if failed[t.Name] >= cfg.BreakAfter {
			return verdict{reason: finishBreaker, tool: t.Name}
		}
		if equal[call{t.Name, t.ArgsSHA256}] >= cfg.BreakAfter {
			return verdict{reason: finishBreaker, tool: t.Name, equal: true}
		}
	}
	if withTools >= cfg.MaxIterations {
		return verdict{reason: finishLimit}
	}
	return verdict{}
}

// lastTools are the calls of the last round.
func lastTools(rounds []prompt.Round) []schema.ToolCall {
	if len(rounds) == 0 {
		return nil
	}
	return rounds[len(rounds)-1].Tools
}
