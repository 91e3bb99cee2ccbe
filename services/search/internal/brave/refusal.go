package brave

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/jsonapi"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// errorAnswer has one error; Brave's reference also shows a list of them.
type errorAnswer struct {
	Error  jsonapi.Maybe[apiError] `json:"error"`
	Errors jsonapi.List[apiError]  `json:"errors"`
}

type apiError struct {
	Code jsonapi.Code        `json:"code"`
	Meta jsonapi.Maybe[meta] `json:"meta"`
}

type meta struct {
	Errors jsonapi.List[fault] `json:"errors"`
}

type fault struct {
	// Loc is the way to what is wrong: query, header or body, and a name.
	Loc jsonapi.Texts `json:"loc"`
}

// refusal reads Brave's error. An invalid token comes with 422, like any
// parameter that is wrong.
func refusal(r adapter.Response) (outcome.Outcome, bool) {
	var e errorAnswer
	if json.Unmarshal(r.Body, &e) != nil {
		return outcome.Outcome{}, false
	}
	for _, one := range append([]apiError{e.Error.Value}, e.Errors.Rows...) {
		if o, ok := byCode(one); ok {
			return o, true
		}
	}
	return outcome.Outcome{}, false
}

func byCode(e apiError) (outcome.Outcome, bool) {
	switch e.Code {
	case "SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_TOKEN_MISSING", "SUBSCRIPTION_NOT_FOUND", "RESOURCE_NOT_ALLOWED":
		return outcome.Because(outcome.AuthFailed, "brave: "+string(e.Code)), true
	case "QUOTA_LIMITED", "QUOTA_EXCEEDED", "USAGE_LIMIT_EXCEEDED":
		return outcome.Because(outcome.QuotaExhausted, "brave: "+string(e.Code)), true
	case "RATE_LIMITED":
		return outcome.Because(outcome.RateLimited, "brave: RATE_LIMITED"), true
	case "OPTION_NOT_IN_PLAN":
		return outcome.Because(outcome.UnsupportedOption, "brave: OPTION_NOT_IN_PLAN"), true
	case "VALIDATION":
		if e.names("x-subscription-token") {
			return outcome.Because(outcome.AuthFailed, "brave: no subscription token"), true
		}
		return outcome.Because(outcome.BadRequest, "brave refuses "+field(e)), true
	}
	return outcome.Outcome{}, false
}

func (e apiError) names(name string) bool {
	return slices.ContainsFunc(e.Meta.Value.Errors.Rows, func(f fault) bool { return slices.Contains(f.Loc, name) })
}

var parameter = regexp.MustCompile(`^[a-z_-]{1,40}$`)

// field names the parameter at fault.
func field(e apiError) string {
	for _, one := range e.Meta.Value.Errors.Rows {
		for i := len(one.Loc) - 1; i >= 0; i-- {
			if parameter.MatchString(one.Loc[i]) {
				return one.Loc[i]
			}
		}
	}
	return "a parameter"
}
