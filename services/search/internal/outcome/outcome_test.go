package outcome

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestNoFailureReadsLikeAnEmptyAnswer(t *testing.T) {
	seen := map[string]Code{}
	for _, c := range All() {
		w := c.Words()
		if w == "" {
			t.Errorf("%s has no words", c)
		}
		if other, ok := seen[w]; ok {
			t.Errorf("%s and %s have the same words", c, other)
		}
		seen[w] = c
		if !c.Answered() && !strings.Contains(w, "do not conclude that there are no results") {
			t.Errorf("%s leaves room for a wrong conclusion: %s", c, w)
		}
		if c.Answered() && strings.Contains(w, "do not conclude") {
			t.Errorf("%s is an answer, yet it says: %s", c, w)
		}
	}
}

func TestEveryFailureHasItsStatus(t *testing.T) {
	want := map[Code]codes.Code{
		DecoySuspected: codes.Unavailable, Challenge: codes.Unavailable, RateLimited: codes.ResourceExhausted,
		QuotaExhausted: codes.ResourceExhausted, AuthFailed: codes.FailedPrecondition, BadRequest: codes.InvalidArgument,
		UnsupportedOption: codes.InvalidArgument, Config: codes.FailedPrecondition, JSShell: codes.Unavailable,
		LayoutUnrecognised: codes.Unavailable, Upstream5xx: codes.Unavailable, Timeout: codes.DeadlineExceeded,
		Cancelled: codes.Canceled, Transport: codes.Unavailable,
	}
	for _, c := range All() {
		err := Of(c).Err()
		if c.Answered() {
			if err != nil {
				t.Errorf("%s is an answer, yet an error: %v", c, err)
			}
			continue
		}
		if err.Code() != want[c] || err.Reason() != string(c) {
			t.Errorf("%s is %s with reason %s, want %s", c, err.Code(), err.Reason(), want[c])
		}
	}
	if d, ok := rpcerr.RetryDelay(Outcome{Code: RateLimited, RetryAfter: 7 * time.Second}.Err()); !ok || d != 7*time.Second {
		t.Errorf("retry after %s (%t), want 7s", d, ok)
	}
	for code, want := range map[Code]time.Duration{RateLimited: time.Minute, QuotaExhausted: time.Hour} {
		if d, ok := rpcerr.RetryDelay(Of(code).Err()); !ok || d != want {
			t.Errorf("%s: retry after %s (%t), want %s", code, d, ok, want)
		}
	}
}

func TestStatusOfAnAnswer(t *testing.T) {
	now := time.Date(2025, 12, 1, 12, 0, 0, 0, time.UTC)
	cases := []struct {
		name     string
		status   int
		header   http.Header
		want     Code
		retry    time.Duration
		readBody bool
	}{
		{name: "success is read", status: 200, readBody: true},
		{name: "accepted is read too", status: 202, readBody: true},
		{name: "too many requests", status: 429, want: RateLimited},
		{name: "with seconds", status: 429, header: http.Header{"Retry-After": {"30"}}, want: RateLimited, retry: 30 * time.Second},
		{name: "with a date", status: 503, header: http.Header{"Retry-After": {"Mon, 01 Dec 2025 12:01:00 GMT"}}, want: Upstream5xx, retry: time.Minute},
		{name: "with nonsense", status: 429, header: http.Header{"Retry-After": {"soon"}}, want: RateLimited},
		{name: "with a year", status: 429, header: http.Header{"Retry-After": {"99999999999999999999"}}, want: RateLimited},
		{name: "forbidden is a block", status: 403, want: Challenge},
		{name: "unauthorized is one, too", status: 401, want: Challenge},
		{name: "so is payment for a page", status: 402, want: Challenge},
		{name: "a proxy wants credentials", status: 407, want: Config},
		{name: "unprocessable", status: 422, want: BadRequest},
		{name: "not found", status: 404, want: LayoutUnrecognised},
		{name: "broken", status: 502, want: Upstream5xx},
		{name: "redirect to a captcha", status: 302, header: http.Header{"Location": {"https://wappass.example/static/captcha/?x"}}, want: Challenge},
		{name: "redirect elsewhere", status: 303, header: http.Header{"Location": {"https://other.example/"}}, want: LayoutUnrecognised},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o, failed := FromStatus(c.status, c.header, now)
			if failed == c.readBody || o.Code != c.want || o.RetryAfter != c.retry {
				t.Errorf("got %+v (%t), want %s after %s", o, failed, c.want, c.retry)
			}
		})
	}
}

func TestStatusOfAnAPI(t *testing.T) {
	now := time.Date(2025, 12, 1, 12, 0, 0, 0, time.UTC)
	for status, want := range map[int]Code{
		301: Config, 303: Config, 400: BadRequest, 401: AuthFailed, 402: QuotaExhausted, 403: AuthFailed, 404: Config, 405: Config, 407: Config, 408: Timeout,
		410: Config, 413: BadRequest, 415: BadRequest, 418: LayoutUnrecognised, 422: BadRequest, 429: RateLimited, 451: Challenge, 500: Upstream5xx, 529: Upstream5xx,
	} {
		o, failed := FromAPIStatus(status, http.Header{"Retry-After": {"7"}}, now)
		if !failed || o.Code != want || o.Detail == "" {
			t.Errorf("%d is %s (%s), want %s", status, o.Code, o.Detail, want)
		}
	}
	for _, status := range []int{200, 202, 204} {
		if o, failed := FromAPIStatus(status, nil, now); failed {
			t.Errorf("%d is %s", status, o.Code)
		}
	}
}

func TestAWaitIsToldInWholeUnits(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		-time.Second: "0 seconds", 0: "0 seconds", time.Millisecond: "1 second", time.Second: "1 second",
		time.Second + 1: "2 seconds", 2 * time.Minute: "120 seconds", 2*time.Minute + 1: "3 minutes", time.Hour: "60 minutes",
		2*time.Hour + time.Second: "3 hours", 48 * time.Hour: "48 hours", 1419704 * time.Second: "17 days", math.MaxInt64: "106752 days",
	} {
		if got := Span(wait); got != want {
			t.Errorf("%s is %q, want %q", wait, got, want)
		}
	}
}
