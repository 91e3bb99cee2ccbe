package adapter

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2025, 12, 1, 12, 0, 0, 0, time.UTC)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestLimitsAreReadFromHeaders(t *testing.T) {
	cases := []struct {
		name string
		h    http.Header
		want Limits
	}{
		{"none", header(), nil},
		{"two windows in lists", header("X-RateLimit-Limit", "1, 15000", "X-RateLimit-Policy", "1;w=1, 15000;w=2592000",
			"X-RateLimit-Remaining", "0, 14523", "X-RateLimit-Reset", "1, 1419704"),
			Limits{{Limit: 1, Remaining: 0, Period: time.Second, ResetAfter: time.Second},
				{Limit: 15000, Remaining: 14523, Period: 720 * time.Hour, ResetAfter: 1419704 * time.Second}}},
		{"lists over several lines", header("X-RateLimit-Limit", "1", "X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "1", "X-RateLimit-Remaining", "7"),
			Limits{{Limit: 1, Remaining: 1}, {Limit: 100, Remaining: 7}}},
		{"lists of unequal length", header("X-RateLimit-Limit", "1, 100", "X-RateLimit-Remaining", "1"),
			Limits{{Limit: 1, Remaining: 1}, {Limit: 100, Remaining: -1}}},
		{"the draft's names", header("RateLimit-Limit", "60", "RateLimit-Remaining", "3", "RateLimit-Reset", "20"),
			Limits{{Limit: 60, Remaining: 3, ResetAfter: 20 * time.Second}}},
		{"a reset as a point in time", header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1764590460"),
			Limits{{Remaining: 0, ResetAfter: time.Minute}}},
		{"a reset in the past", header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1764590000"), Limits{{Remaining: 0}}},
		{"one set for each thing counted", header("anthropic-ratelimit-requests-limit", "50", "anthropic-ratelimit-requests-remaining", "49",
			"anthropic-ratelimit-requests-reset", "2025-12-01T12:00:30Z", "anthropic-ratelimit-input-tokens-remaining", "0"),
			Limits{{Limit: 50, Remaining: 49, ResetAfter: 30 * time.Second}, {Name: "input-tokens", Remaining: 0}}},
		{"nonsense", header("X-RateLimit-Limit", "many", "X-RateLimit-Remaining", "-4", "X-RateLimit-Reset", "soon", "X-RateLimit-Policy", ";w="), nil},
		{"numbers beyond all reason", header("X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1e300", "X-RateLimit-Policy", "5;w=99999999999"),
			Limits{{Limit: 5}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ReadLimits(c.h, now)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTheLongestUsedUpWindowCounts(t *testing.T) {
	second := Limit{Remaining: 0, Period: time.Second, ResetAfter: time.Second}
	month := Limit{Remaining: 0, Period: 720 * time.Hour, ResetAfter: 400 * time.Hour}
	cases := []struct {
		name      string
		l         Limits
		exhausted bool
		quota     bool
	}{
		{"nothing known", nil, false, false},
		{"not told", Limits{{Remaining: -1}}, false, false},
		{"some left", Limits{{Remaining: 4}}, false, false},
		{"the second", Limits{second, {Remaining: 9, Period: 720 * time.Hour}}, true, false},
		{"the month", Limits{{Remaining: 1}, month}, true, true},
		{"both", Limits{second, month}, true, true},
		{"a day without its name", Limits{{Remaining: 0, ResetAfter: 30 * time.Hour}}, true, true},
	}
	for _, c := range cases {
		w, ok := c.l.Exhausted()
		if ok != c.exhausted || ok && w.Quota() != c.quota {
			t.Errorf("%s: exhausted %t, quota %t", c.name, ok, w.Quota())
		}
	}
}

func FuzzReadLimits(f *testing.F) {
	f.Add("1, 15000", "0, 1", "1, 1419704", "1;w=1, 15000;w=2592000")
	f.Add("x", "-1", "2025-12-01T12:00:30Z", ";;w=,")
	f.Fuzz(func(t *testing.T, limit, remaining, reset, policy string) {
		for _, w := range ReadLimits(header("X-RateLimit-Limit", limit, "X-RateLimit-Remaining", remaining, "X-RateLimit-Reset", reset, "X-RateLimit-Policy", policy), now) {
			if w.Limit < 0 || w.Remaining < -1 || w.Period < 0 || w.ResetAfter < 0 || w.ResetAfter > maxReset {
				t.Fatalf("%+v", w)
			}
		}
	})
}
