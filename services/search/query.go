package search

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/domains"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// question is what a caller asks, from whichever side it came.
type question struct {
	text             string
	maxResults       int
	allowed, blocked []string
	provider         string
}

// request is a checked question.
type request struct {
	question
	filter *domains.Filter
}

// check reports everything that is wrong with a question at once.
func check(q question) (request, error) {
	q.text = strings.TrimSpace(q.text)
	var bad *rpcerr.Error
	refuse := func(field, why string) {
		if bad == nil {
			bad = rpcerr.InvalidArgument(field, why)
			return
		}
		bad = bad.WithField(field, why)
	}
	switch n := utf8.RuneCountInString(q.text); {
	case !utf8.ValidString(q.text) || strings.ContainsFunc(q.text, isControl):
		refuse("query", "has control characters or is no valid UTF-8; send plain text")
	case n < MinQueryRunes:
		refuse("query", fmt.Sprintf("has %d characters; at least %d are needed", n, MinQueryRunes))
	case n > MaxQueryRunes:
		refuse("query", fmt.Sprintf("has %d characters; at most %d are taken", n, MaxQueryRunes))
	}
	if q.maxResults < 1 || q.maxResults > MaxResultsCap {
		refuse("max_results", fmt.Sprintf("is %d; it must be 1 to %d", q.maxResults, MaxResultsCap))
	}
	var filter *domains.Filter
	if len(q.allowed) > 0 && len(q.blocked) > 0 {
		refuse("allowed_domains", "cannot be used together with blocked_domains; send one of the two")
		refuse("blocked_domains", "cannot be used together with allowed_domains; send one of the two")
	} else {
		var err error
		if filter, err = domains.NewFilter(q.allowed, q.blocked); err != nil {
			refuse(domainProblem(err))
		}
	}
	if bad != nil {
		return request{}, bad
	}
	return request{q, filter}, nil
}

// isControl lets tabs and line breaks pass: they fold into blanks.
func isControl(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
}

func domainProblem(err error) (field, why string) {
	if d, ok := errors.AsType[*domains.Error](err); ok {
		return d.Field, strings.TrimPrefix(d.Error(), d.Field+": ")
	}
	return "allowed_domains", err.Error()
}

// overfetch is how many times more rows are asked for when the domain filter
// will throw some away.
const overfetch = 2

// query is the question in an adapter's terms.
func (r request) query() adapter.Query {
	q := adapter.Query{Text: strings.Join(strings.Fields(r.text), " "), Count: r.maxResults}
	if r.filter.Empty() {
		return q
	}
	q.Count *= overfetch
	q.AllowedDomains = r.filter.ServerHint()
	for _, d := range r.filter.Blocked() {
		// The operator has no form for "the subdomains alone", and hiding the
		// domain itself would hide results that the filter lets through.
		if !strings.HasPrefix(d, "*.") {
			q.BlockedDomains = append(q.BlockedDomains, d)
		}
	}
	return q
}

// tooMany is the refusal of a caller's eleventh search within a minute.
func tooMany(limit int) *rpcerr.Error {
	return rpcerr.New(codes.ResourceExhausted, "RATE_LIMITED",
		"at most %d searches a minute are allowed for each user; wait, or work with the results you have", limit)
}
