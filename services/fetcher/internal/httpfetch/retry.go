package httpfetch

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// transient are the statuses that a later attempt may not meet again.
func transient(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryIn decides whether an attempt is repeated, and after which wait. A wait
// that would pass the deadline is not begun: the caller has more use of the
// answer and its Retry-After.
func (c *Client) retryIn(ctx context.Context, attempt, retries int, resp *Response, failure *Error) (time.Duration, bool) {
	if attempt > retries || ctx.Err() != nil {
		return 0, false
	}
	wait := time.Duration(c.jitter() * float64(c.cfg.BackoffBase<<(attempt-1)))
	switch {
	case failure != nil:
		if !failure.Retryable || (failure.Kind != KindConnect && failure.Kind != KindDNS) {
			return 0, false
		}
	case !transient(resp.Status), resp.RetryAfter > c.cfg.MaxRetryAfter:
		return 0, false
	default:
		wait = max(wait, resp.RetryAfter)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return 0, false
	}
	return wait, true
}

// maxParsedRetryAfter keeps absurd values from overflowing.
const maxParsedRetryAfter = 365 * 24 * time.Hour

// parseRetryAfter reads seconds or an HTTP date (RFC 9110 section 10.2.3);
// 0 when absent, past or unreadable.
func parseRetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if secs, err := strconv.ParseInt(value, 10, 64); err == nil {
		if secs < 0 {
			return 0
		}
		return time.Duration(min(secs, int64(maxParsedRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxParsedRetryAfter)
}
