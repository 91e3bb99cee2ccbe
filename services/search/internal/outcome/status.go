package outcome

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what an engine may ask for: longer waits are taken for
// mistakes.
const maxRetryAfter = 24 * time.Hour

// FromStatus gives the outcome of an answer by its status alone, and false for
// the successful ones, whose body has to be read. now serves a Retry-After
// that is a date; with a zero now such a date is left unread.
//
// A 401, 402 or 403 from an engine's result page is a block: it was given no
// credentials, and nobody bought an allowance.
func FromStatus(status int, header http.Header, now time.Time) (Outcome, bool) {
	detail := "HTTP " + strconv.Itoa(status)
	o := Outcome{Detail: detail, RetryAfter: retryAfter(header, now)}
	switch {
	case status >= 200 && status < 300:
		return Outcome{}, false
	case status >= 300 && status < 400:
		return redirected(header, detail), true
	case status == http.StatusTooManyRequests:
		o.Code = RateLimited
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusForbidden,
		status == http.StatusUnavailableForLegalReasons:
		o.Code = Challenge
	case status == http.StatusProxyAuthRequired:
		o.Code, o.Detail = Config, detail+": the proxy wants credentials"
	case status == http.StatusRequestTimeout:
		o.Code = Timeout
	case status == http.StatusBadRequest, status == http.StatusRequestURITooLong,
		status == http.StatusRequestEntityTooLarge, status == http.StatusUnprocessableEntity:
		o.Code = BadRequest
	case status >= 500:
		o.Code = Upstream5xx
	default:
		o.Code = LayoutUnrecognised
	}
	return o, true
}

// FromAPIStatus is FromStatus for engines that are asked through an API: there
// a 401 or 403 is a matter of our key, a 402 of our allowance, and a redirect or a
// 404 of the address that the operator set. A 429 may be a quota, which only the
// headers tell.
func FromAPIStatus(status int, header http.Header, now time.Time) (Outcome, bool) {
	o, failed := FromStatus(status, header, now)
	switch {
	case !failed:
		return Outcome{}, false
	case status >= 300 && status < 400:
		o.Code, o.Detail = Config, "HTTP "+strconv.Itoa(status)+": the address redirects"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		o.Code = AuthFailed
	case status == http.StatusPaymentRequired:
		o.Code = QuotaExhausted
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone:
		o.Code, o.Detail = Config, o.Detail+": nothing is served at this address"
	case status == http.StatusUnsupportedMediaType:
		o.Code = BadRequest
	}
	return o, true
}

// redirected judges a redirect that was not followed because it leaves the
// engine: engines send suspected robots to a host of their own for captchas.
func redirected(header http.Header, detail string) Outcome {
	to := strings.ToLower(header.Get("Location"))
	for _, mark := range []string{"captcha", "/sorry/", "challenge", "anomaly", "antispider", "consent.", "/consent", "/blocked"} {
		if strings.Contains(to, mark) {
			return Outcome{Code: Challenge, Detail: detail + " to a challenge"}
		}
	}
	return Outcome{Code: LayoutUnrecognised, Detail: detail + " away from the engine"}
}

// retryAfter reads RFC 9110 section 10.2.3: seconds or a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(header.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.Atoi(v); err == nil {
		return clampRetry(time.Duration(min(max(s, 0), int(maxRetryAfter/time.Second)+1)) * time.Second)
	}
	if at, err := http.ParseTime(v); err == nil && !now.IsZero() {
		return clampRetry(at.Sub(now))
	}
	return 0
}

func clampRetry(d time.Duration) time.Duration {
	if d < 0 || d > maxRetryAfter {
		return 0
	}
	return d
}
