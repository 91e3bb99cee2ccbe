package provider

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// exchange is the HTTP client under go-openai for one model call: it mends the
// request, sends it, and hands back canonical frames or an *Error.
type exchange struct {
	client *Client
	req    Request

	used      concessions
	dog       *watchdog
	status    int
	requestID string
}

// Do sends what go-openai made. A request member that the endpoint refuses by
// name is conceded and the call made again, each at most once.
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	x.used = x.client.memory.get()
	for {
		payload, err := x.client.wiring().rewrite(body, x.req, x.used)
		if err != nil {
			return nil, err
		}
		resp, err := x.send(r, payload)
		if err != nil {
			return nil, err
		}
		x.status, x.requestID = resp.StatusCode, x.client.explain.requestID(resp.Header)
		if resp.StatusCode >= 200 && resp.StatusCode < 300 {
			x.client.memory.keep(x.used)
			resp.Body = newFrameBody(decoded(x.dog.watch(resp.Body), resp.Header), x.client.cfg.MaxLine, x.client.cfg.MaxMessage)
			return resp, nil
		}
		refusal, err := x.refuse(r.Context(), resp)
		if resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusUnprocessableEntity {
			if next, again := x.used.learn(x.client.cfg.Profile, payload, refusal); again {
				x.used = next
				continue
			}
		}
		return nil, err
	}
}

// send makes one HTTP request. The transport is used directly: no redirect is
// followed and no cookie kept.
func (x *exchange) send(r *http.Request, payload []byte) (*http.Response, error) {
	cfg := x.client.cfg
	x.dog = newWatchdog(r.Context(), cfg.FirstByteTimeout, cfg.IdleTimeout)
	out := r.Clone(x.dog.ctx)
	out.URL, out.Host = x.client.endpoint, ""
	out.Body = io.NopCloser(bytes.NewReader(payload))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(payload)), nil }
	out.ContentLength = int64(len(payload))
	cfg.header(out.Header)
	resp, err := x.client.transport.RoundTrip(out)
	if err != nil {
		defer x.dog.stop()
		return nil, x.explain(r.Context(), err)
	}
	return resp, nil
}

// refuse reads an answer that is no success and explains it. The status says the
// most, so nobody waits longer for the rest than an idle stream is waited for.
func (x *exchange) refuse(parent context.Context, resp *http.Response) ([]byte, error) {
	body := decoded(x.dog.watch(resp.Body), resp.Header)
	defer body.Close()
	switch {
	case resp.StatusCode < 200:
		return nil, x.client.explain.malformed(resp.StatusCode, statusText(resp.StatusCode)+" came in place of an answer", nil)
	case resp.StatusCode < 400:
		return nil, x.client.explain.redirected(resp.StatusCode, resp.Header)
	}
	enough := time.AfterFunc(x.client.cfg.IdleTimeout, func() { x.dog.cancel(context.Canceled) })
	defer enough.Stop()
	said, _ := io.ReadAll(io.LimitReader(body, maxErrorBody))
	if parent.Err() != nil {
		return nil, x.client.explain.cancelled(parent)
	}
	return said, x.client.explain.answered(resp.StatusCode, resp.Header, readFailure(said))
}

// explain turns a failure of the connection or of reading into an *Error.
func (x *exchange) explain(parent context.Context, err error) *Error {
	var (
		known   *Error
		silence *silenceError
		strange *notProtocol
	)
	say := x.client.explain
	switch {
	case errors.As(err, &known):
		return known
	case parent.Err() != nil:
		return say.cancelled(parent)
	case x.dog != nil && errors.As(context.Cause(x.dog.ctx), &silence):
		return say.silent(x.status, silence)
	case errors.Is(err, errTooLarge):
		return say.tooLarge(x.status, err)
	case errors.As(err, &strange):
		return say.malformed(x.status, strange.what, err)
	case x.status != 0:
		return say.truncated(x.status, err)
	}
	return say.unreachable(err)
}

// newTransport returns a transport for one endpoint. Answers are streams of
// small pieces: compression would only hold them back.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true
	t.MaxIdleConnsPerHost = 16
	t.TLSHandshakeTimeout = 10 * time.Second
	t.ResponseHeaderTimeout = 0 // the watchdog's
	return t
}
