// Package page is the way every HTML adapter reads an answer: status, then
// challenge marks, then the engine's own list, and only when that yields
// nothing a look at what the page may be instead.
package page

import (
	"bytes"
	"net/http"
	"regexp"

	"github.com/PuerkitoBio/goquery"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/classify"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// Reader reads the engine's list from a page that is no certain challenge. It
// answers LayoutUnrecognised when it finds no list and no word that there are
// no results.
type Reader func(doc *goquery.Document, r adapter.Response) (adapter.Page, outcome.Outcome)

// Read judges an answer, in the order that keeps a blocked page from passing
// for an empty one. Too many requests are just that, whatever the page shows: the
// wait that comes with them counts.
func Read(r adapter.Response, read Reader) (adapter.Page, outcome.Outcome) {
	if r.Status == http.StatusTooManyRequests {
		o, _ := outcome.FromStatus(r.Status, r.Header, r.ReceivedAt)
		return adapter.Page{}, o
	}
	if mark := classify.ByHeader(r.Header); mark != "" {
		return adapter.Page{}, outcome.Because(outcome.Challenge, mark)
	}
	p, o := judge(r, read)
	// Engines answer suspects with 202: accepted, and nothing done. A challenge
	// may come with it, or an empty body.
	if r.Status == http.StatusAccepted && (o.Code == outcome.LayoutUnrecognised || o.Code == outcome.JSShell) {
		return adapter.Page{}, outcome.Because(outcome.Challenge, "HTTP 202 without results")
	}
	return p, o
}

func judge(r adapter.Response, read Reader) (adapter.Page, outcome.Outcome) {
	byStatus, failed := outcome.FromStatus(r.Status, r.Header, r.ReceivedAt)
	doc, err := parse(r.Body)
	if err != nil {
		if failed {
			return adapter.Page{}, byStatus
		}
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "the page cannot be parsed")
	}
	if o, ok := of(classify.Certain(doc)); ok {
		o.RetryAfter = byStatus.RetryAfter
		return adapter.Page{}, o
	}
	if failed {
		// A block may say by its page what its status only hints at.
		if o, ok := of(classify.Remaining(doc)); ok && o.Code == outcome.Challenge {
			o.RetryAfter = byStatus.RetryAfter
			return adapter.Page{}, o
		}
		return adapter.Page{}, byStatus
	}
	p, o := read(doc, r)
	if o.Code == outcome.EmptyVerified && (r.Truncated || breaksOff(r.Body)) {
		// What stands in the part that is missing nobody knows.
		p, o = adapter.Page{HasList: true}, outcome.Because(outcome.LayoutUnrecognised, "the word for no results on a part of a page")
	}
	if o.Code == outcome.LayoutUnrecognised {
		look := classify.Remaining
		if p.HasList {
			look = classify.WithList
		}
		if better, ok := of(look(doc)); ok {
			return adapter.Page{}, better
		}
	}
	if r.Truncated && (o.Code == outcome.LayoutUnrecognised || o.Code.HasResults()) {
		o = o.Noting("the page was cut at the size limit")
	}
	return p, o
}

var (
	opening = regexp.MustCompile(`(?i)<html[\s>]`)
	closing = regexp.MustCompile(`(?i)</(?:html|body)[\s>]`)
)

// breaksOff reports whether a document begins and does not end: not every
// connection that is lost on the way tells so.
func breaksOff(body []byte) bool { return opening.Match(body) && !closing.Match(body) }

// Instead judges a page that came where an API's answer should be. It is false
// when the page is none that is known. A bare refusal is known by its status:
// every server sends its own with "403 Forbidden" above it.
func Instead(body []byte) (outcome.Outcome, bool) {
	doc, err := parse(body)
	if err != nil {
		return outcome.Outcome{}, false
	}
	v := classify.Remaining(doc)
	if v.Mark == classify.Refusal {
		return outcome.Outcome{}, false
	}
	return of(v)
}

func of(v classify.Verdict) (outcome.Outcome, bool) {
	switch v.Kind {
	case classify.Challenge, classify.Consent:
		return outcome.Because(outcome.Challenge, v.Mark), true
	case classify.JSShell:
		return outcome.Because(outcome.JSShell, v.Mark), true
	}
	return outcome.Outcome{}, false
}

// parse reads the bytes as HTML. The parser gives up on absurd nesting, partly
// by a panic of its own that it turns into an error; nothing else escapes it.
func parse(body []byte) (*goquery.Document, error) {
	return goquery.NewDocumentFromReader(bytes.NewReader(body))
}
