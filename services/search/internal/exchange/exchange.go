// Package exchange is one question to one engine from the plan to the outcome:
// it sends the planned request, reads the answer, and goes on where an engine
// pauses.
package exchange

import (
	"context"
	"errors"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/transport"
)

// maxRounds is how often an engine is asked when it pauses.
const maxRounds = 2

// Result is what came of a question.
type Result struct {
	Page    adapter.Page
	Outcome outcome.Outcome
	// Plan is what was sent; its Request is empty when none could be made.
	Plan adapter.Plan
	// Response is the last answer; its Status is 0 when there was none.
	Response adapter.Response
}

// Ask puts q to an engine until ctx ends. It has an outcome in every case.
func Ask(ctx context.Context, client *transport.Client, engine adapter.Adapter, q adapter.Query, trust transport.Trust) Result {
	plan, err := engine.Plan(q)
	if err != nil {
		return Result{Outcome: notPlanned(err)}
	}
	res := Result{Plan: plan}
	request := plan.Request
	cost := 0.0
	for round := 1; ; round++ {
		res.Response, err = client.Do(ctx, request, trust)
		if err != nil {
			res.Page, res.Outcome = adapter.Page{CostUSD: cost}, transport.Failure(err)
			return res
		}
		res.Page, res.Outcome = engine.Parse(res.Response)
		cost += res.Page.CostUSD
		res.Page.CostUSD = cost
		resumable, ok := engine.(adapter.Continuer)
		if !ok || round == maxRounds {
			return res
		}
		if request, ok = resumable.Continue(request, res.Response); !ok {
			return res
		}
	}
}

// notPlanned is the outcome of a question for which no request can be made.
func notPlanned(err error) outcome.Outcome {
	if errors.Is(err, adapter.ErrNotConfigured) {
		return outcome.Because(outcome.Config, err.Error())
	}
	return outcome.Because(outcome.UnsupportedOption, err.Error())
}
