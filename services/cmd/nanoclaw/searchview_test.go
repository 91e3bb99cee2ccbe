package main

import (
	"testing"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
)

func TestWhatIsLeftOfAnAllowance(t *testing.T) {
	left := int32(14523)
	none := int32(0)
	for _, c := range []struct {
		name   string
		limits []*searchv1.ProviderLimit
		want   string
	}{
		{"nothing is told", nil, "-"},
		{"calls of a month", []*searchv1.ProviderLimit{{Name: "requests", Limit: 15000, Remaining: &left, PeriodSeconds: 2592000, ResetsAt: "2026-12-16T19:00:18Z"}},
			"14523 requests of 15000 until 2026-12-16T19:00:18Z"},
		{"no call of this second", []*searchv1.ProviderLimit{{Name: "requests", Limit: 1, Remaining: &none, PeriodSeconds: 1, ResetsAt: "2026-11-30T08:38:42Z"}},
			"0 requests of 1 each 1 s until 2026-11-30T08:38:42Z"},
		{"a second that is over", []*searchv1.ProviderLimit{{Name: "requests", Limit: 1, PeriodSeconds: 1}}, "1 requests each 1 s"},
		{"calls left of nobody knows how many", []*searchv1.ProviderLimit{{Name: "searches", Remaining: &none}}, "0 searches"},
		{"two windows", []*searchv1.ProviderLimit{{Name: "a", Limit: 2}, {Name: "b", Limit: 3}}, "2 a; 3 b"},
	} {
		if got := limitsOf(c.limits); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWhoWasNotAskedIsToldApart(t *testing.T) {
	for _, c := range []struct{ attempts, asked, passed string }{
		{"bing=TIMEOUT", "bing=TIMEOUT", ""},
		{"(bing=AUTH_FAILED)", "", "bing=AUTH_FAILED"},
		{"bing=DECOY_SUSPECTED, (tavily=RATE_LIMITED), duckduckgo=CHALLENGE", "bing=DECOY_SUSPECTED, duckduckgo=CHALLENGE", "tavily=RATE_LIMITED"},
	} {
		if asked, passed := attemptWords(c.attempts); asked != c.asked || passed != c.passed {
			t.Errorf("%s: %q and %q", c.attempts, asked, passed)
		}
	}
}

func TestAServerThatSpeaksAnotherLanguageIsSaidTo(t *testing.T) {
	const message = `health check: rpc error: code = Unauthenticated desc = unexpected HTTP status code received from server: 401 (Unauthorized)`
	if got := dialProblem(message); got != "what answers there speaks HTTP and not gRPC" {
		t.Error(got)
	}
}
