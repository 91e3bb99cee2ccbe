// Package jsonapi is the way every adapter of an API reads an answer: status and
// limits, then whether it is JSON at all, and only then the engine's own list.
package jsonapi

import (
	"bytes"
	"encoding/json"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/page"
)

// Reader reads the engine's list from a successful answer. It answers
// EmptyVerified only for a list that is there and empty.
type Reader[T any] func(answer T, r adapter.Response) (adapter.Page, outcome.Outcome)

// Refusal reads the engine's own words about a failure. It answers false when
// they say no more than the status does.
type Refusal func(r adapter.Response) (outcome.Outcome, bool)

// Read judges an answer.
func Read[T any](r adapter.Response, refused Refusal, read Reader[T]) (adapter.Page, outcome.Outcome) {
	limits := adapter.ReadLimits(r.Header, r.ReceivedAt)
	if o, failed := outcome.FromAPIStatus(r.Status, r.Header, r.ReceivedAt); failed {
		return adapter.Page{Limits: limits}, failure(o, r, limits, refused)
	}
	var answer T
	if o, ok := decode(r, &answer); !ok {
		return adapter.Page{Limits: limits}, o
	}
	p, o := read(answer, r)
	if o.Code == outcome.LayoutUnrecognised && refused != nil {
		// Some say what failed with a status of success.
		if own, ok := refused(r); ok {
			o = own
		}
	}
	p.Limits = append(p.Limits, limits...)
	if !o.Code.HasResults() {
		p = p.WithoutResults()
	}
	return p, byLimits(o, limits)
}

func decode(r adapter.Response, answer any) (outcome.Outcome, bool) {
	body := bytes.TrimSpace(r.Body)
	if len(body) == 0 {
		return outcome.Because(outcome.LayoutUnrecognised, "an empty body"), false
	}
	if body[0] != '{' && body[0] != '[' {
		if o, ok := page.Instead(body); ok {
			return o, false
		}
		return outcome.Because(outcome.LayoutUnrecognised, "no JSON"), false
	}
	if err := json.Unmarshal(body, answer); err != nil {
		detail := "JSON that is not of the known form"
		if r.Truncated {
			detail = "JSON that was cut at the size limit"
		}
		return outcome.Because(outcome.LayoutUnrecognised, detail), false
	}
	return outcome.Outcome{}, true
}

// failure makes the most of an answer with a failing status: the engine's own
// words, a challenge of whoever stands in front of it, or its limits.
func failure(o outcome.Outcome, r adapter.Response, limits adapter.Limits, refused Refusal) outcome.Outcome {
	if refused != nil && json.Valid(r.Body) {
		if own, ok := refused(r); ok {
			own.RetryAfter = max(own.RetryAfter, o.RetryAfter)
			return byLimits(own, limits)
		}
	}
	if o.Code == outcome.AuthFailed || o.Code == outcome.Upstream5xx {
		if in, ok := page.Instead(r.Body); ok && in.Code == outcome.Challenge {
			in.RetryAfter = o.RetryAfter
			return in
		}
	}
	return byLimits(o, limits)
}

// byLimits tells a used-up allowance from a pace that was too fast: 429 means
// either.
func byLimits(o outcome.Outcome, limits adapter.Limits) outcome.Outcome {
	if o.Code != outcome.RateLimited && o.Code != outcome.QuotaExhausted {
		return o
	}
	used, ok := limits.Exhausted()
	if !ok {
		return o
	}
	if used.Quota() {
		o.Code, o.Detail = outcome.QuotaExhausted, "the allowance of the period is used up"
	}
	if o.Code == outcome.QuotaExhausted || o.RetryAfter == 0 {
		o.RetryAfter = max(o.RetryAfter, used.ResetAfter)
	}
	return o
}
