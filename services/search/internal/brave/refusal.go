package brave

import (
	"encoding/json"
	"regexp"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/jsonapi"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

type errorAnswer struct {
	Type  jsonapi.Text `json:"type"`
	Error struct {
		Code jsonapi.Code `json:"code"`
		Meta struct {
			Errors []struct {
				Loc jsonapi.Texts `json:"loc"`
			} `json:"errors"`
		} `json:"meta"`
	} `json:"error"`
}

// refusal reads Brave's error. An invalid token comes with 422, like any
// parameter that is wrong.
func refusal(r adapter.Response) (outcome.Outcome, bool) {
	var e errorAnswer
	if json.Unmarshal(r.Body, &e) != nil {
		return outcome.Outcome{}, false
	}
	switch e.Error.Code {
	case "SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_NOT_FOUND", "RESOURCE_NOT_ALLOWED":
		return outcome.Because(outcome.AuthFailed, "brave: "+string(e.Error.Code)), true
	case "QUOTA_LIMITED", "QUOTA_EXCEEDED", "USAGE_LIMIT_EXCEEDED":
		return outcome.Because(outcome.QuotaExhausted, "brave: "+string(e.Error.Code)), true
	case "RATE_LIMITED":
		return outcome.Because(outcome.RateLimited, "brave: RATE_LIMITED"), true
	case "OPTION_NOT_IN_PLAN":
		return outcome.Because(outcome.UnsupportedOption, "brave: OPTION_NOT_IN_PLAN"), true
	case "VALIDATION":
		return outcome.Because(outcome.BadRequest, "brave refuses "+field(e)), true
	}
	return outcome.Outcome{}, false
}

var parameter = regexp.MustCompile(`^[a-z_]{1,40}$`)

// field names the parameter at fault.
func field(e errorAnswer) string {
	for _, one := range e.Error.Meta.Errors {
		for i := len(one.Loc) - 1; i >= 0; i-- {
			if parameter.MatchString(one.Loc[i]) {
				return one.Loc[i]
			}
		}
	}
	return "a parameter"
}
