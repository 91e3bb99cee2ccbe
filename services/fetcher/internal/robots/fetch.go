package robots

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
)

const (
	// maxValid is the longest that a robots.txt is believed (RFC 9309 section
	// 2.4); minValid the shortest, whatever Cache-Control says.
	maxValid = 24 * time.Hour
	minValid = 5 * time.Minute
	// minUnreachable is how long the first failure holds; each further one in a
	// row twice as long, at most maxUnreachable.
	minUnreachable = 10 * time.Second
	maxUnreachable = time.Hour
	// refusalValid is how long it is believed that an origin cannot be asked.
	refusalValid = time.Minute
	// maxRedirects are followed (RFC 9309 section 2.3.1.2).
	maxRedirects = 5
	// fetchTimeout bounds one fetch of a robots.txt.
	fetchTimeout = 20 * time.Second
)

// limits are those of fetching a robots.txt.
func limits(cfg httpfetch.Config) httpfetch.Config {
	cfg.Timeout = min(cfg.Timeout, fetchTimeout)
	cfg.MaxRedirects = maxRedirects
	cfg.MaxRawBytes, cfg.MaxDecodedBytes = MaxBytes, MaxBytes
	return cfg
}

// fetch asks an origin. known is what was known before, nil when nothing was.
func (c *Checker) fetch(ctx context.Context, origin string, known *Verdict) *Verdict {
	got, err := c.client.Get(ctx, httpfetch.Request{URL: origin + "/robots.txt", NoRetry: true})
	var failed *httpfetch.Error
	switch {
	case errors.As(err, &failed) && failed.Kind == httpfetch.KindRedirect:
		// Nowhere to be had: as if there were none.
		return found(StateNone, Rules{}, maxValid)
	case failed != nil && isRefusal(failed):
		return &Verdict{
			State: StateUnreachable, Until: time.Now().Add(refusalValid),
			Refusal: &Refusal{Kind: failed.Kind, Reason: failed.Reason, Host: failed.Host, Message: failed.Message},
		}
	case err != nil:
		return unreachable(known, 0, "robots.txt cannot be had: "+err.Error())
	case got.Status == http.StatusTooManyRequests || got.Status >= http.StatusInternalServerError:
		return unreachable(known, got.RetryAfter, fmt.Sprintf("robots.txt of %s cannot be had: the server answers %d", origin, got.Status))
	case got.BrokeOff:
		return unreachable(known, 0, fmt.Sprintf("robots.txt of %s broke off", origin))
	case got.Status >= http.StatusMultipleChoices: // unavailable, section 2.3.1.3; a 3xx that leads nowhere is the same
		return found(StateNone, Rules{}, validity(got.Header))
	}
	body := got.Body
	if got.Truncated {
		body = append(body[:len(body):len(body)], 0) // over the limit: the line that it cuts is not read
	}
	rules, any := Parse(body, c.product)
	if !any {
		return found(StateNone, Rules{}, validity(got.Header))
	}
	return found(StateRules, rules, validity(got.Header))
}

// isRefusal tells failures that every page of the origin would meet.
func isRefusal(e *httpfetch.Error) bool {
	if e.Retryable || e.Redirects > 0 {
		return false
	}
	return e.Kind == httpfetch.KindRefused || e.Kind == httpfetch.KindDNS || e.Kind == httpfetch.KindTLS
}

func found(s State, r Rules, valid time.Duration) *Verdict {
	return &Verdict{State: s, Rules: r, Until: time.Now().Add(valid)}
}

// unreachable holds longer with each failure in a row, or as long as the server
// asked.
func unreachable(known *Verdict, asked time.Duration, reason string) *Verdict {
	v := &Verdict{State: StateUnreachable, Reason: reason, Failures: 1}
	if known != nil {
		v.Failures += known.Failures
	}
	const doublings = 12 // more would overflow, and are over the limit long before
	wait := max(minUnreachable<<min(v.Failures-1, doublings), asked)
	v.Until = time.Now().Add(min(wait, maxUnreachable))
	return v
}

// validity is how long a header lets an answer be kept: Cache-Control's max-age
// within our limits, or a day.
func validity(h http.Header) time.Duration {
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store", "no-cache":
			return minValid
		case "max-age":
			if s, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32); err == nil {
				return min(max(time.Duration(s)*time.Second, minValid), maxValid)
			}
		}
	}
	return maxValid
}
