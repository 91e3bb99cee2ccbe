// Package outcome names what became of one attempt to search.
//
// An outcome is always stated by whoever saw the evidence (a status, a marker
// in the page, an API's own field). It is never inferred from the number of
// results: ten rows may be decoys and no rows may be a changed layout.
package outcome

import (
	"strings"
	"time"
)

// Code is what became of an attempt. The strings are on the wire and in spans.
type Code string

// The codes. OK, OKAlteredQuery, EmptyVerified and EmptyAfterFilter are
// answers; all others are failures that say nothing about what exists.
const (
	// OK: results for the query that was asked.
	OK Code = "OK"
	// OKAlteredQuery: results, but for another query than the one asked
	// (spelling corrected, quotation marks dropped). The page names it.
	OKAlteredQuery Code = "OK_ALTERED_QUERY"
	// EmptyVerified: the engine itself says that it found nothing.
	EmptyVerified Code = "EMPTY_VERIFIED"
	// EmptyAfterFilter: there were results, all outside the caller's domains.
	EmptyAfterFilter Code = "EMPTY_AFTER_FILTER"

	// DecoySuspected: rows that answer other people's queries. Bing does so
	// for queries it has not cached (HenriGrimm/Minnow#898, ddgs#325).
	DecoySuspected Code = "DECOY_SUSPECTED"
	// Challenge: a captcha, an anomaly page, a consent wall, a 403.
	Challenge Code = "CHALLENGE"
	// RateLimited: too many requests, by the engine's word or our own pacing.
	RateLimited Code = "RATE_LIMITED"
	// QuotaExhausted: a paid allowance is used up.
	QuotaExhausted Code = "QUOTA_EXHAUSTED"
	// AuthFailed: the engine refused our key, not the caller's token.
	AuthFailed Code = "AUTH_FAILED"
	// BadRequest: the engine refused the request as malformed.
	BadRequest Code = "BAD_REQUEST"
	// UnsupportedOption: the engine cannot do what was asked of it.
	UnsupportedOption Code = "UNSUPPORTED_OPTION"
	// Config: the operator's setting of the engine is wrong.
	Config Code = "CONFIG"
	// JSShell: a page that holds nothing until scripts run.
	JSShell Code = "JS_SHELL"
	// LayoutUnrecognised: a page in which results may well stand, but not
	// where we know to read them.
	LayoutUnrecognised Code = "LAYOUT_UNRECOGNISED"
	// Upstream5xx: the engine is broken.
	Upstream5xx Code = "UPSTREAM_5XX"
	// Timeout: no whole answer in time.
	Timeout Code = "TIMEOUT"
	// Cancelled: the caller went away.
	Cancelled Code = "CANCELLED"
	// Transport: no connection, a broken one, or an address that is refused.
	Transport Code = "TRANSPORT"
)

// All lists every code, answers first.
func All() []Code {
	return []Code{
		OK, OKAlteredQuery, EmptyVerified, EmptyAfterFilter,
		DecoySuspected, Challenge, RateLimited, QuotaExhausted, AuthFailed,
		BadRequest, UnsupportedOption, Config, JSShell, LayoutUnrecognised,
		Upstream5xx, Timeout, Cancelled, Transport,
	}
}

// HasResults reports whether results come with c.
func (c Code) HasResults() bool { return c == OK || c == OKAlteredQuery }

// Answered reports whether the engine answered the question, be it with
// nothing. Everything else leaves the question open.
func (c Code) Answered() bool {
	return c.HasResults() || c == EmptyVerified || c == EmptyAfterFilter
}

// TryNext reports whether another engine may do better.
func (c Code) TryNext() bool { return !c.Answered() && c != Cancelled }

// Outcome is a code with what is known beside it.
type Outcome struct {
	Code Code
	// Detail says in a few words what was seen ("bing turnstile page"), beside
	// results what was left out or changed. It never holds page text or addresses.
	Detail string
	// RetryAfter is how long to wait, when the engine or our pacing says so.
	RetryAfter time.Duration
}

// Of makes an outcome without a detail.
func Of(c Code) Outcome { return Outcome{Code: c} }

// Because makes an outcome with a detail.
func Because(c Code, detail string) Outcome { return Outcome{Code: c, Detail: detail} }

// Noting is the outcome with more to say in its detail, behind what it says.
func (o Outcome) Noting(more ...string) Outcome {
	if o.Detail != "" {
		more = append([]string{o.Detail}, more...)
	}
	o.Detail = strings.Join(more, "; ")
	return o
}
