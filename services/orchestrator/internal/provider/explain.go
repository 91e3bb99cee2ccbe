package provider

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// explainer writes the errors of one client: what happened, at which address,
// what to do. It holds nothing of the key itself.
type explainer struct {
	model  string
	url    string // as it may be shown
	key    keyFacts
	redact redactor
}

// failed makes an error of what happened and what to do about it, which may be
// nothing. Both are ours or cleaned.
func (x explainer) failed(e Error, what, hint string) *Error {
	e.Message, e.Hint = fmt.Sprintf("model %q at %s: %s", x.model, x.url, what), hint
	if hint != "" {
		e.Message += ". " + hint
	}
	return &e
}

// answered explains an error that the provider sent, as an answer or inside a
// stream.
func (x explainer) answered(status int, h http.Header, f failure) *Error {
	e := Error{
		Kind: kindOf(status, f), Status: status, Code: x.redact.clean(f.code(), 100),
		Detail: x.redact.clean(f.message, maxDetail), RequestID: x.requestID(h),
		RetryAfter: cmp.Or(retryAfter(h, time.Now()), f.wait),
	}
	what := statusText(status)
	if status < 400 {
		what = "an error in the answer"
	}
	if e.Detail != "" {
		what += ": " + strings.TrimRight(e.Detail, ".!。 ")
	}
	return x.failed(e, what, x.hint(e, f))
}

// redirected explains a redirect: the key must not travel to an address that
// nobody configured.
func (x explainer) redirected(status int, h http.Header) *Error {
	e := Error{Kind: KindNotFound, Status: status, RequestID: x.requestID(h)}
	if to, err := url.Parse(h.Get("Location")); err == nil && *to != (url.URL{}) {
		return x.failed(e, statusText(status)+" to "+x.redact.clean(displayURL(to.String()), maxDetail),
			"Redirects are not followed: set api_url to the final address if you trust it")
	}
	return x.failed(e, statusText(status)+", and no address that could be called instead", "Check api_url")
}

// malformed explains an answer that is not the protocol.
func (x explainer) malformed(status int, what string, err error) *Error {
	return x.failed(Error{Kind: KindMalformed, Status: status, Err: err}, x.redact.clean(what, maxDetail),
		"Check that api_url is a chat-completions endpoint and that no proxy or login page answers in its place")
}

// tooLarge explains an answer over a limit.
func (x explainer) tooLarge(status int, err error) *Error {
	return x.failed(Error{Kind: KindMalformed, Status: status, Err: err}, err.Error()+"; the rest was not read", "")
}

// truncated explains a stream that ended before the answer did.
func (x explainer) truncated(status int, err error) *Error {
	return x.failed(Error{Kind: KindTruncated, Status: status, Err: withoutURL(err)}, "the connection ended in the middle of the answer", "")
}

// silent explains a passed time limit.
func (x explainer) silent(status int, err *silenceError) *Error {
	return x.failed(Error{Kind: KindTimeout, Status: status, Err: err}, err.Error(),
		"Check that the server is alive; a model that thinks for longer needs a larger limit (timeout)")
}

// noList explains that an endpoint did not list its models in time.
func (x explainer) noList(ctx context.Context, waited time.Duration) *Error {
	return x.failed(Error{Kind: KindTimeout, Err: ctx.Err()}, fmt.Sprintf("no answer within %s", waited.Round(time.Millisecond)),
		"Check that the server is alive, and that a firewall or a proxy lets requests through")
}

// cancelled explains the end of the caller's context.
func (x explainer) cancelled(ctx context.Context) *Error {
	return x.failed(Error{Kind: KindCancelled, Err: fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))},
		fmt.Sprintf("the call was cancelled (%v)", ctx.Err()), "")
}

// unmakeable explains a request that never became one.
func (x explainer) unmakeable(err error) *Error {
	return x.failed(Error{Kind: KindBadRequest, Err: err}, "the request could not be made: "+x.redact.clean(err.Error(), maxDetail), "")
}

// unreachable explains a request that got no answer.
func (x explainer) unreachable(err error) *Error {
	err = withoutURL(err)
	what, hint := connectionFault(err)
	return x.failed(Error{Kind: KindTransport, Err: err}, x.redact.clean(what, maxDetail), x.redact.clean(hint, maxDetail))
}
