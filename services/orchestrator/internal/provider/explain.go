package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// explainer writes the errors of one client: what happened, at which address,
// what to check. It never holds more of the key than whether there is one.
type explainer struct {
	model  string
	url    string // as it may be shown
	hasKey bool
	redact redactor
}

// answered explains an error that the provider sent, as an answer or inside a
// stream.
func (x explainer) answered(status int, h http.Header, f failure) *Error {
	e := &Error{
		Kind: kindOf(status, f), Status: status, Code: x.redact.clean(f.code(), 100),
		Detail: x.redact.clean(f.message, maxDetail), RequestID: x.requestID(h),
		RetryAfter: retryAfter(h, time.Now()),
	}
	what := statusText(status)
	if status < 400 {
		what = "an error in the answer"
	}
	said := ""
	if e.Detail != "" {
		said = ": " + e.Detail
	}
	e.Message = fmt.Sprintf("model %q at %s: %s%s", x.model, x.url, what, said)
	if hint := x.hint(e); hint != "" {
		e.Message += ". " + hint
	}
	return e
}

func (x explainer) hint(e *Error) string {
	switch e.Kind {
	case KindAuth:
		if e.Status == http.StatusProxyAuthRequired {
			return "A proxy on the way asks for credentials: check HTTPS_PROXY and NO_PROXY of this process"
		}
		if !x.hasKey {
			return "No API key is set for this model: set api_key, and see that the environment variable it names was exported before the start"
		}
		return "The API key was refused: check that it belongs to this provider and address, has no missing characters, has not expired, and may use this model"
	case KindNotFound:
		return "Check the model's name and api_url: the provider knows no such model, or nothing answers at this address"
	case KindQuota:
		return "The account has no credit or quota left: top it up or choose another model; repeating does not help"
	case KindRateLimited:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("Too many requests: wait %s", e.RetryAfter.Round(time.Second))
		}
		return "Too many requests: wait before the next call"
	case KindContextLength:
		return "The conversation does not fit the model's context window: shorten it or choose a model with a larger one"
	case KindContentFilter:
		return "The provider's content filter refused it"
	case KindOverloaded, KindServer, KindTimeout:
		return "The fault is the provider's: try again later"
	case KindBadRequest:
		return "The provider refuses the request as it is"
	}
	return ""
}

// redirected explains a redirect: the key must not travel to an address that
// nobody configured.
func (x explainer) redirected(status int, h http.Header) *Error {
	where := ", and no address that could be called instead. Check api_url"
	if to, err := url.Parse(h.Get("Location")); err == nil && *to != (url.URL{}) {
		where = fmt.Sprintf(" to %s. Redirects are not followed: set api_url to the final address if you trust it", displayURL(to.String()))
	}
	return &Error{
		Kind: KindNotFound, Status: status, RequestID: x.requestID(h),
		Message: x.redact.clean(fmt.Sprintf("model %q at %s: %s%s", x.model, x.url, statusText(status), where), 2*maxDetail),
	}
}

// malformed explains an answer that is not the protocol.
func (x explainer) malformed(status int, what string, err error) *Error {
	return &Error{
		Kind: KindMalformed, Status: status, Err: err,
		Message: fmt.Sprintf("model %q at %s: %s. Check that api_url is a chat-completions endpoint and that no proxy or login page answers in its place", x.model, x.url, x.redact.clean(what, maxDetail)),
	}
}

// tooLarge explains an answer over a limit.
func (x explainer) tooLarge(status int, err error) *Error {
	return &Error{
		Kind: KindMalformed, Status: status, Err: err,
		Message: fmt.Sprintf("model %q at %s: %v; the rest was not read", x.model, x.url, err),
	}
}

// truncated explains a stream that ended before the answer did.
func (x explainer) truncated(status int, err error) *Error {
	return &Error{
		Kind: KindTruncated, Status: status, Err: withoutURL(err),
		Message: fmt.Sprintf("model %q at %s: the connection ended in the middle of the answer", x.model, x.url),
	}
}

// silent explains a passed time limit.
func (x explainer) silent(status int, err *silenceError) *Error {
	return &Error{
		Kind: KindTimeout, Status: status, Err: err,
		Message: fmt.Sprintf("model %q at %s: %v. Check that the server is alive; a model that thinks for longer needs a larger limit", x.model, x.url, err),
	}
}

// cancelled explains the end of the caller's context.
func (x explainer) cancelled(ctx context.Context) *Error {
	return &Error{
		Kind: KindCancelled, Err: fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx)),
		Message: fmt.Sprintf("model %q at %s: the call was cancelled (%v)", x.model, x.url, ctx.Err()),
	}
}

// unreachable explains a request that got no answer.
func (x explainer) unreachable(err error) *Error {
	err = withoutURL(err)
	return &Error{
		Kind: KindTransport, Err: err,
		Message: fmt.Sprintf("model %q at %s: %s", x.model, x.url, x.redact.clean(x.transportHint(err), maxDetail)),
	}
}

func (x explainer) transportHint(err error) string {
	var (
		dns    *net.DNSError
		record tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("the host name %q cannot be resolved (%s). Check api_url and the name server", dns.Name, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused: nothing listens there. Check the host and port in api_url, and that the server is started"
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server does not speak TLS. Use http:// in api_url if that is meant"
	case isTLSFailure(err):
		return fmt.Sprintf("the TLS handshake failed (%v). Check the host name in api_url, the machine's clock and its root certificates", err)
	}
	return fmt.Sprintf("the connection failed (%v)", err)
}
