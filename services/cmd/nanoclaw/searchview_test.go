package main

import (
	"testing"
	"time"

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

func TestWhyAServerDoesNotAnswerIsSaidInPlainWords(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{`health check: rpc error: code = Unauthenticated desc = unexpected HTTP status code received from server: 401 (Unauthorized)`,
			"what answers there speaks HTTP and not gRPC"},
		{`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`,
			"dial tcp 127.0.0.1:1: connect: connection refused"},
		{"no children to pick from", "its name leads to no address"},
		{"name resolver error: produced zero addresses", "its name leads to no address"},
	} {
		if got := dialProblem(c.message); got != c.want {
			t.Errorf("%s: %q", c.message, got)
		}
	}
}

func TestAWaitIsToldInWholeSeconds(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		time.Millisecond: "Full. Try again in 1s.", 3 * time.Second: "Full. Try again in 3s.", 8*time.Minute + 3564*time.Millisecond: "Full. Try again in 8m4s.",
	} {
		if got := tryAgain("Full.", wait); got != want {
			t.Errorf("%s: %q, want %q", wait, got, want)
		}
	}
}

func TestEnginesThatShowOneIndexAreOneWitness(t *testing.T) {
	result := func(families ...string) *searchv1.SearchResult {
		r := &searchv1.SearchResult{}
		for _, f := range families {
			r.Sources = append(r.Sources, &searchv1.ResultSource{Family: f})
		}
		return r
	}
	for _, c := range []struct {
		name    string
		results []*searchv1.SearchResult
		want    int
	}{
		{"no results", nil, 0},
		{"two engines of one index", []*searchv1.SearchResult{result("bing", "bing"), result("bing")}, 1},
		{"a result of each of two", []*searchv1.SearchResult{result("bing"), result("brave")}, 2},
	} {
		if got := indexes(&searchv1.SearchResponse{Results: c.results}); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
