// Package exchange is one question to one engine from the plan to the outcome:
// it sends the planned request, reads the answer, and goes on where an engine
// pauses.
package exchange

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"

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
	// Fault is a *PanicError when the adapter failed; other errors are told by the
	// outcome.
	Fault error
}

// Ask puts q to an engine until ctx ends. It has an outcome in every case.
func Ask(ctx context.Context, client *transport.Client, engine adapter.Adapter, q adapter.Query, trust transport.Trust) Result {
	plan, err := Plan(engine, q)
	if err != nil {
		return Result{Outcome: notPlanned(err), Fault: err}
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
		res.Response.Query = cmp.Or(plan.SentText, q.Text)
		got, next, more, err := read(engine, request, res.Response)
		if err != nil {
			res.Page, res.Outcome, res.Fault = adapter.Page{CostUSD: cost}, outcome.Because(outcome.LayoutUnrecognised, err.Error()+" on the answer"), err
			return res
		}
		cost += got.Page.CostUSD
		res.Page, res.Outcome = got.Page, got.Outcome
		res.Page.CostUSD = cost
		if !more || round == maxRounds {
			return res
		}
		request = next
	}
}

// PanicError says that an adapter panicked. Its text tells nothing of the query.
type PanicError struct {
	// Value is what it panicked with, Stack where.
	Value any
	Stack []byte
}

func (*PanicError) Error() string { return "the adapter failed" }

// Try calls f. The error is a *PanicError when it panics.
func Try(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{r, debug.Stack()}
		}
	}()
	f()
	return nil
}

// Plan is the engine's plan. The error of an adapter that panics is a *PanicError.
func Plan(engine adapter.Adapter, q adapter.Query) (plan adapter.Plan, err error) {
	if fault := Try(func() { plan, err = engine.Plan(q) }); fault != nil {
		return adapter.Plan{}, fault
	}
	return plan, err
}

// read is the engine's reading of an answer, and the request that goes on from
// it, if it is a pause.
func read(engine adapter.Adapter, asked adapter.Request, r adapter.Response) (res Result, next adapter.Request, more bool, err error) {
	err = Try(func() {
		res.Page, res.Outcome = engine.Parse(r)
		if resumable, ok := engine.(adapter.Continuer); ok {
			next, more = resumable.Continue(asked, r)
		}
	})
	return res, next, more, err
}

// notPlanned is the outcome of a question for which no request can be made.
func notPlanned(err error) outcome.Outcome {
	if errors.Is(err, adapter.ErrNotConfigured) {
		return outcome.Because(outcome.Config, err.Error())
	}
	return outcome.Because(outcome.UnsupportedOption, err.Error())
}
