package search

import (
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestASearchThatNobodyAnsweredIsToldByTheEngineThatMayAnswerSoonest(t *testing.T) {
	asked := func(code outcome.Code, wait time.Duration) attempt {
		return attempt{provider: "an engine", outcome: outcome.Outcome{Code: code, RetryAfter: wait}}
	}
	passed := func(code outcome.Code, wait time.Duration) attempt {
		at := asked(code, wait)
		at.skipped = true
		return at
	}
	const month = 30 * 24 * time.Hour
	cases := []struct {
		name     string
		attempts []attempt
		reason   outcome.Code
		wait     time.Duration // 0: none is told
		retry    bool
	}{
		{"one engine", []attempt{asked(outcome.QuotaExhausted, month)}, outcome.QuotaExhausted, month, false},
		{"an allowance is used up and the next was slow", []attempt{asked(outcome.QuotaExhausted, 0), asked(outcome.Timeout, 0)}, outcome.Timeout, 0, true},
		{"and is so since yesterday", []attempt{passed(outcome.QuotaExhausted, month), asked(outcome.Upstream5xx, 0)}, outcome.Upstream5xx, 0, true},
		{"a key is refused and the next blocks", []attempt{asked(outcome.AuthFailed, 0), asked(outcome.Challenge, 0)}, outcome.Challenge, 0, true},
		{"a key is refused and the next has to be waited for", []attempt{passed(outcome.AuthFailed, 0), asked(outcome.RateLimited, 0)}, outcome.RateLimited, time.Minute, true},
		{"all wait", []attempt{passed(outcome.Challenge, time.Hour), passed(outcome.RateLimited, 3*time.Second), passed(outcome.Challenge, time.Minute)}, outcome.RateLimited, 3 * time.Second, true},
		{"equal ones", []attempt{asked(outcome.DecoySuspected, 0), asked(outcome.Timeout, 0)}, outcome.DecoySuspected, 0, true},
		{"only a person can help", []attempt{asked(outcome.AuthFailed, 0), asked(outcome.Config, 0)}, outcome.AuthFailed, 0, false},
		{"one lacked an option", []attempt{passed(outcome.UnsupportedOption, 0), asked(outcome.AuthFailed, 0)}, outcome.AuthFailed, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := answer{attempts: c.attempts}.failure(t.Context())
			wait, told := rpcerr.RetryDelay(err)
			if err.Reason() != string(c.reason) || told != (c.wait > 0) || told && wait != c.wait || retryable(err) != c.retry {
				t.Errorf("%s, wait %s (%t), again %t", err.Reason(), wait, told, retryable(err))
			}
		})
	}
}
