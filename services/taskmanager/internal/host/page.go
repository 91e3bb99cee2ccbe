package host

import (
	"fmt"
	"net/http"
	"time"
)

// The outcomes of a page, as workers name them.
const (
	OutcomeFetched = "fetched"
	OutcomeFailed  = "failed"
	OutcomeBlocked = "blocked"
	OutcomeSkipped = "skipped"
)

// Reasons of pages that did not come.
const (
	// ReasonHTTP: an answer came, and it was an error.
	ReasonHTTP = "HTTP_ERROR"
	// ReasonTimeout is what workers say of a request that took too long.
	ReasonTimeout = "FETCH_TIMEOUT"
	// ReasonRobots: robots.txt forbids the address.
	ReasonRobots = "ROBOTS_DISALLOWED"
	// ReasonFailed: the worker gave no reason.
	ReasonFailed = "FETCH_FAILED"
)

// Page is what became of one request.
type Page struct {
	Outcome    string
	StatusCode int
	Reason     string
	Message    string
	Retryable  bool
	RetryAfter time.Duration
	Duration   time.Duration
	// Attempts and Blocks of the address before this request.
	Attempts, Blocks int
}

// Fate is what is to be done about an address.
type Fate int

// The fates.
const (
	Came    Fate = iota // the page is there
	Failed              // it cannot be had
	Skipped             // it must not be asked for
	Again               // it is tried again, and this was an attempt
	Later               // it is tried again, and this was none
)

// Verdict is a fate with what belongs to it.
type Verdict struct {
	Fate Fate
	// Wait before it is tried again.
	Wait time.Duration
	// Reason and Message of Failed and Skipped.
	Reason, Message string
}

// Page takes what became of one request into account and says what that means
// for the address. giveUp is a reason to end the rest of what the task wants of
// the host, empty for none.
func (p *Pace) Page(now int64, policy Policy, page Page) (v Verdict, giveUp string) {
	switch {
	case page.Outcome == OutcomeSkipped:
		return Verdict{Fate: Skipped, Reason: or(page.Reason, ReasonRobots), Message: or(page.Message, "robots.txt forbids it")}, ""
	case page.blocked():
		return p.blocked(now, policy, page)
	case page.transient():
		giveUp = p.failed(now, policy, page)
		if page.Attempts < policy.MaxRetries {
			return Verdict{Fate: Again, Wait: policy.spread(grown(time.Second, 4, page.Attempts+1, time.Minute))}, giveUp
		}
		return page.failed(), giveUp
	}
	p.came(policy, page)
	if page.Outcome == OutcomeFailed || page.StatusCode >= http.StatusBadRequest {
		return page.failed(), ""
	}
	return Verdict{Fate: Came}, ""
}

// blocked: the server asks to be left alone. A 503 says so only with a
// Retry-After.
func (p Page) blocked() bool {
	return p.Outcome == OutcomeBlocked || p.Outcome == OutcomeFetched &&
		(p.StatusCode == http.StatusTooManyRequests || p.StatusCode == http.StatusServiceUnavailable && p.RetryAfter > 0)
}

// transient: another try may go better (RFC 9110 sections 15.5.9 and 15.6; RFC
// 8470 for 425).
func (p Page) transient() bool {
	if p.Outcome == OutcomeFailed {
		return p.Retryable
	}
	return p.StatusCode == http.StatusRequestTimeout || p.StatusCode == http.StatusTooEarly || p.StatusCode >= 500
}

func (p Page) failed() Verdict {
	if p.Outcome == OutcomeFailed || p.StatusCode == 0 {
		return Verdict{Fate: Failed, Reason: or(p.Reason, ReasonFailed), Message: or(p.Message, "the page could not be fetched")}
	}
	return Verdict{Fate: Failed, Reason: ReasonHTTP, Message: statusWords(p.StatusCode)}
}

func statusWords(code int) string {
	if text := http.StatusText(code); text != "" {
		return fmt.Sprintf("the server answered %d %s", code, text)
	}
	return fmt.Sprintf("the server answered %d", code)
}

func (p *Pace) blocked(now int64, policy Policy, page Page) (Verdict, string) {
	p.shrink(policy)
	p.Blocks++
	wait := policy.spread(grown(firstBlock, 2, p.Blocks, longestBlock))
	wait = max(wait, page.RetryAfter)
	p.wait(now, wait, fmt.Sprintf("the server asked to be left alone (%s)", statusWords(or(page.StatusCode, http.StatusTooManyRequests))))
	verdict := Verdict{Fate: Later, Wait: wait}
	tooLong := page.RetryAfter > maxRetryAfter
	if page.Blocks >= MaxBlocks || p.Blocks > MaxBlocks || tooLong {
		words := "the server keeps asking to be left alone"
		if tooLong {
			words = fmt.Sprintf("the server asks to be left alone for %s", page.RetryAfter.Round(time.Second))
		}
		verdict = Verdict{Fate: Failed, Reason: ReasonRateLimited, Message: words}
	}
	if p.Blocks > MaxBlocks || tooLong {
		return verdict, ReasonRateLimited
	}
	return verdict, ""
}

func (p *Pace) failed(now int64, policy Policy, page Page) (giveUp string) {
	if page.Reason == ReasonTimeout {
		p.shrink(policy)
	}
	p.Clean = 0
	p.Failures++
	if p.Failures < breakerFailures && p.Opens == 0 {
		return ""
	}
	p.Opens++
	p.Failures = 0
	p.wait(now, grown(firstOpen, openFactor, p.Opens, longestOpen), "it failed several times in a row")
	if p.Opens >= MaxOpens {
		return ReasonUnavailable
	}
	return ""
}

// came: the host answers, whatever it says of this page.
func (p *Pace) came(policy Policy, page Page) {
	if page.Outcome == OutcomeFailed && page.StatusCode == 0 {
		return // not the host's doing: an address that must not be dialled, a page that cannot be read
	}
	p.Failures, p.Opens, p.Blocks, p.Reason = 0, 0, 0, ""
	if ms := int(page.Duration.Milliseconds()); p.LatencyMS == 0 {
		p.LatencyMS = ms
	} else {
		p.LatencyMS += (ms - p.LatencyMS) / 4
	}
	p.Credit(policy, 1)
}

// Credit takes pages into account that came, and that nobody else was told of.
func (p *Pace) Credit(policy Policy, pages int) {
	if pages == 0 {
		return
	}
	p.Failures, p.Opens, p.Blocks = 0, 0, 0
	for p.Clean += pages; p.Clean >= growAfter; p.Clean -= growAfter {
		p.Parallel = min(p.window(policy)+1, maxParallel)
	}
}

// Clean reports whether a page tells nothing of its host but that it bears what it
// gets.
func (p Page) Clean() bool {
	return p.Outcome == OutcomeFetched && p.StatusCode > 0 && p.StatusCode < http.StatusBadRequest
}

// shrink halves what the host gets at once.
func (p *Pace) shrink(policy Policy) { p.Parallel, p.Clean = max(p.window(policy)/2, 1), 0 }

func (p *Pace) wait(now int64, d time.Duration, why string) {
	if next := now + d.Milliseconds(); next > p.NextAt {
		p.NextAt, p.Reason = next, why
	}
}

// GiveUpWords are words for a reason to give up.
func GiveUpWords(reason, host string) string {
	if reason == ReasonRateLimited {
		return host + " keeps asking to be left alone; the rest of its addresses was not asked for"
	}
	return host + " cannot be reached; the rest of its addresses was not asked for"
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
