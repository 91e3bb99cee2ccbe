// Package health decides whether an engine is asked at the moment.
//
// Engines that are scraped block addresses that go on asking, and engines that
// are down cost every caller the wait. A breaker for each engine and network
// therefore opens after failures that say something about the engine, for longer
// each time; after that exactly one request may find out whether it answers
// again. What a caller did (a cancelled search, a malformed one) and what the
// engine says honestly (nothing found) count for nothing.
package health

import (
	"slices"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// When a breaker opens, and for how long.
const (
	// window is how far back failures count, and maxSamples how many answers.
	window     = 5 * time.Minute
	maxSamples = 20
	// minSamples are needed for a share of failures to mean anything; more than
	// maxShare of them opens the breaker, and so do failures in a row that weigh
	// maxRun together.
	minSamples = 5
	maxShare   = 0.5
	maxRun     = 3.0
	// decoyWeight is what an answer of other queries' rows weighs: the guard that
	// finds them may be wrong.
	decoyWeight = 0.5

	failureOpens = 30 * time.Second
	failureGrows = 2
	failureMost  = 15 * time.Minute

	challengeOpens = 10 * time.Minute
	challengeGrows = 3
	challengeMost  = 6 * time.Hour

	// quotaOpens holds when an engine does not say when its allowance is new.
	quotaOpens = time.Hour
	// jitterShare is how much a time may be shortened by chance, so that replicas
	// do not come back all at once.
	jitterShare = 0.25

	// skew is how far the clocks of replicas may differ. What is dated later than
	// that was written by a clock that has been set back since.
	skew = time.Minute
)

// Phase is what a breaker does with requests.
type Phase string

// The phases.
const (
	// Closed lets all through.
	Closed Phase = "closed"
	// Open lets none through.
	Open Phase = "open"
	// HalfOpen lets one through that finds out.
	HalfOpen Phase = "half_open"
)

// Breaker is the state of an engine. The zero value is closed. Values are never
// changed in place.
type Breaker struct {
	// Samples are the last answers, the newest last.
	Samples []Sample `json:",omitempty"`
	// Opened is how often it opened in a row for Reason; 0 while it is closed.
	Opened int `json:",omitempty"`
	// Since is when it opened.
	Since time.Time `json:",omitzero"`
	// Until is when it half opens; zero for never.
	Until time.Time `json:",omitzero"`
	// Reason is the outcome that opened it.
	Reason outcome.Code `json:",omitempty"`
}

// Sample is one answer.
type Sample struct {
	At time.Time
	// Failure is 0 for an answer, else what the failure weighs.
	Failure float64 `json:",omitempty"`
}

// Phase is the phase at a time. One that opened in the future half opens: its
// time was told by a wrong clock, and a request finds out.
func (b Breaker) Phase(now time.Time) Phase {
	switch {
	case b.Opened == 0:
		return Closed
	case ahead(b.Since, now):
		return HalfOpen
	case b.Until.IsZero() || now.Before(b.Until):
		return Open
	}
	return HalfOpen
}

// ahead reports whether a moment is later than now for all that clocks may
// differ.
func ahead(at, now time.Time) bool { return at.After(now.Add(skew)) }

// After is the breaker once a request came to an outcome. chance is from 0 up to
// 1 and spreads times.
func (b Breaker) After(now time.Time, o outcome.Outcome, chance float64) Breaker {
	weight, counts := weigh(o.Code)
	if !counts {
		return b
	}
	phase := b.Phase(now)
	if weight == 0 {
		switch phase {
		case HalfOpen:
			return Breaker{}
		case Open: // sent before it opened: the newer evidence stands
			return b
		}
		return b.add(Sample{At: now})
	}
	if wait, at := opensAtOnce(b, o, chance); at {
		return b.open(now, o.Code, wait)
	}
	switch phase {
	case Open:
		return b
	case HalfOpen:
		return b.open(now, o.Code, grown(failureOpens, failureGrows, failureMost, b.times(o.Code), chance))
	}
	b = b.add(Sample{now, weight})
	if !b.failing() {
		return b
	}
	return b.open(now, o.Code, grown(failureOpens, failureGrows, failureMost, 0, chance))
}

// weigh tells what an outcome says about the engine: 0 for an answer, and false
// when it says nothing.
func weigh(c outcome.Code) (weight float64, counts bool) {
	switch c {
	case outcome.OK, outcome.OKAlteredQuery, outcome.EmptyAfterFilter:
		return 0, true
	case outcome.EmptyVerified, outcome.Cancelled, outcome.BadRequest, outcome.UnsupportedOption:
		return 0, false
	case outcome.DecoySuspected:
		return decoyWeight, true
	}
	return 1, true
}

// opensAtOnce tells for how long an outcome opens the breaker whatever was
// before; 0 for good.
func opensAtOnce(b Breaker, o outcome.Outcome, chance float64) (wait time.Duration, at bool) {
	switch o.Code {
	case outcome.Challenge:
		return grown(challengeOpens, challengeGrows, challengeMost, b.times(o.Code), chance), true
	case outcome.QuotaExhausted:
		if o.RetryAfter > 0 {
			return o.RetryAfter, true
		}
		return quotaOpens, true
	case outcome.AuthFailed:
		return 0, true
	case outcome.RateLimited:
		return o.RetryAfter, o.RetryAfter > 0
	}
	return 0, false
}

// times is how often the breaker opened in a row for reasons that grow like c.
func (b Breaker) times(c outcome.Code) int {
	if (b.Reason == outcome.Challenge) != (c == outcome.Challenge) {
		return 0
	}
	return b.Opened
}

// grown is a time that grows with each opening and is then shortened by chance.
func grown(first time.Duration, factor int, most time.Duration, times int, chance float64) time.Duration {
	d := first
	for range times {
		if d *= time.Duration(factor); d >= most {
			d = most
			break
		}
	}
	return d - time.Duration(jitterShare*chance*float64(d))
}

// open is the breaker opened for wait. Failures of requests that were under way
// together are one failure: an open breaker is opened again only for longer, and
// then its count stays.
func (b Breaker) open(now time.Time, reason outcome.Code, wait time.Duration) Breaker {
	next := Breaker{Opened: b.times(reason) + 1, Since: now, Reason: reason}
	if wait > 0 {
		next.Until = now.Add(wait)
	}
	if b.Phase(now) != Open {
		return next
	}
	if b.Reason == reason || b.Until.IsZero() || !next.Until.IsZero() && !next.Until.After(b.Until) {
		return b
	}
	return next
}

func (b Breaker) add(s Sample) Breaker {
	kept := make([]Sample, 0, maxSamples)
	for _, old := range b.Samples {
		if s.At.Sub(old.At) < window && !ahead(old.At, s.At) {
			kept = append(kept, old)
		}
	}
	kept = append(kept, s)
	b.Samples = kept[max(0, len(kept)-maxSamples):]
	return b
}

// failing reports whether the samples are reason enough to open.
func (b Breaker) failing() bool {
	all, run := 0.0, 0.0
	for _, s := range b.Samples {
		all += s.Failure
	}
	for _, s := range slices.Backward(b.Samples) {
		if s.Failure == 0 {
			break
		}
		run += s.Failure
	}
	return run >= maxRun || len(b.Samples) >= minSamples && all > maxShare*float64(len(b.Samples))
}
