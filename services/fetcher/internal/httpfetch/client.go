package httpfetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/pause"
)

// Guard decides where the client may go. The address of every request and
// redirect is checked by name, and every connection after the name was
// resolved; *netguard.Guard implements it.
type Guard interface {
	CheckURL(raw string) (*url.URL, error)
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	CheckRedirect(req *http.Request, via []*http.Request) error
}

// Request is one document to get.
type Request struct {
	// URL is absolute, http or https.
	URL string
	// NoRetry leaves repeating to the caller, who has a clock of its own for
	// the host (a crawl's politeness grant).
	NoRetry bool
	// Hop, where there is one, is asked before each redirect is followed. It may
	// wait, and the time that it takes is not counted; its error ends the fetch
	// with KindHop.
	Hop func(ctx context.Context, next *url.URL) error
}

// Redirect is one step on the way to the document.
type Redirect struct {
	// URL is the address that answered with Status.
	URL string
	// Status is its redirecting HTTP status.
	Status int
}

// Response is what the server answered, whatever its status.
type Response struct {
	// FinalURL is the address after all redirects.
	FinalURL string
	// Status is the HTTP status of the last answer.
	Status int
	// Header is the last answer's header.
	Header http.Header
	// Body is decoded, in the bytes' own charset.
	Body []byte
	// RawBytes is the size of the body on the wire.
	RawBytes int64
	// Truncated says that Body is not all of it: it broke off, or the rest was
	// over a limit.
	Truncated bool
	// BrokeOff says that Body ended before the server meant it to.
	BrokeOff bool
	// Redirects are the steps taken, first to last.
	Redirects []Redirect
	// RetryAfter is how long the server asked to be left alone, where it did
	// and the client did not wait (0: it did not ask).
	RetryAfter time.Duration
	// Attempts is how many requests were made for it, redirects not counted.
	Attempts int
	// Warnings are oddities that did not stop the fetch.
	Warnings []string
}

// Client gets documents. It is safe for concurrent use and keeps connections
// alive; Close ends the idle ones.
type Client struct {
	cfg       Config
	guard     Guard
	transport http.RoundTripper
	jitter    func() float64 // in [0, 1)
}

var errDialTimeout = errors.New("no connection in time")

// New makes a client whose every connection goes through guard.
func New(cfg Config, guard Guard) *Client {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, cfg.DialTimeout, errDialTimeout)
		defer cancel()
		conn, err := guard.DialContext(ctx, network, addr)
		if err != nil && errors.Is(context.Cause(ctx), errDialTimeout) {
			err = fmt.Errorf("%w: %w", errDialTimeout, err)
		}
		return conn, err
	}
	return newClient(cfg, guard, &http.Transport{
		Proxy:                  nil, // a proxy would be dialled instead of the checked target
		DialContext:            dial,
		TLSHandshakeTimeout:    cfg.TLSTimeout,
		ResponseHeaderTimeout:  cfg.HeaderTimeout,
		MaxResponseHeaderBytes: cfg.MaxHeaderBytes,
		DisableCompression:     true, // content codings are undone here, behind limits
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    5, // what a crawl may ask of a host at once
		IdleConnTimeout:        30 * time.Second,
	})
}

func newClient(cfg Config, guard Guard, rt http.RoundTripper) *Client {
	return &Client{cfg: cfg, guard: guard, transport: rt, jitter: rand.Float64}
}

// With is a client that shares the connections of c and has other limits. The
// time-outs of connecting stay those of c.
func (c *Client) With(cfg Config) *Client {
	other := *c
	other.cfg = cfg
	return &other
}

// Close ends idle connections. Running fetches go on.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Get fetches one document with redirects and retries. Any HTTP status is an
// answer; the error is always an *Error.
func (c *Client) Get(ctx context.Context, req Request) (*Response, error) {
	target, err := c.guard.CheckURL(req.URL)
	if err != nil {
		return nil, c.classify(context.WithoutCancel(ctx), hostOf(req.URL), err)
	}
	ctx, clock := startClock(ctx, c.cfg.Timeout, req.Hop != nil)
	defer clock.stop()
	retries := c.cfg.MaxRetries
	if req.NoRetry {
		retries = 0
	}
	for attempt := 1; ; attempt++ {
		resp, failure := c.once(ctx, target, clock.paused(req.Hop))
		if resp != nil {
			resp.Attempts = attempt
		} else {
			failure.Attempts = attempt
		}
		wait, again := c.retryIn(ctx, attempt, retries, resp, failure)
		if again && pause.For(ctx, wait) == nil {
			continue
		}
		if failure != nil {
			return nil, failure
		}
		return resp, nil
	}
}

// once makes one attempt: a request, its redirects, and the body.
func (c *Client) once(ctx context.Context, target *url.URL, hop func(context.Context, *url.URL) error) (*Response, *Error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, &Error{Kind: KindRefused, Reason: "INVALID_URL", Host: target.Host, Err: err, Message: "not a valid address"}
	}
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,text/*;q=0.8,*/*;q=0.5")
	req.Header.Set("Accept-Language", "en-US,en;q=0.9,*;q=0.5")
	req.Header.Set("Accept-Encoding", "gzip, br, zstd, deflate")

	out := &Response{}
	host := target.Host
	client := http.Client{Transport: c.transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > c.cfg.MaxRedirects {
			return errTooManyRedirects
		}
		status := 0
		if next.Response != nil {
			status = next.Response.StatusCode
		}
		out.Redirects = append(out.Redirects, Redirect{URL: via[len(via)-1].URL.String(), Status: status})
		host = next.URL.Host
		if err := c.guard.CheckRedirect(next, via); err != nil || hop == nil {
			return err
		}
		if err := hop(ctx, next.URL); err != nil {
			return &hopError{err}
		}
		return nil
	}}
	fail := func(err error) (*Response, *Error) {
		e := c.classify(ctx, host, err)
		e.Redirects = len(out.Redirects)
		return nil, e
	}
	resp, err := client.Do(req)
	if err != nil {
		if resp != nil {
			_ = resp.Body.Close() // CheckRedirect refused: the redirecting answer
		}
		return fail(err)
	}
	defer func() { _ = resp.Body.Close() }()
	out.FinalURL = resp.Request.URL.String()
	out.Status = resp.StatusCode
	out.Header = resp.Header
	out.RetryAfter = parseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
	if err := c.readBody(ctx, cancel, resp, out); err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Host, e.Redirects = host, len(out.Redirects)
			return nil, e
		}
		return fail(err)
	}
	return out, nil
}

// readBody reads and decodes the body within all limits.
func (c *Client) readBody(ctx context.Context, cancel context.CancelCauseFunc, resp *http.Response, out *Response) error {
	host := resp.Request.URL.Host
	codings, err := contentCodings(resp.Header.Values("Content-Encoding"))
	if err != nil {
		return &Error{Kind: KindDecode, Message: fmt.Sprintf("%s: %v", host, err), Err: err}
	}
	idle := newIdleReader(resp.Body, c.cfg.IdleTimeout, func() { cancel(errIdleTimeout) })
	defer idle.stop()
	raw := &meter{r: idle, max: c.cfg.MaxRawBytes}
	dec, err := newDecoder(raw, codings, c.cfg.MaxDecodedBytes)
	if err == nil {
		defer dec.close()
		out.Body, out.Truncated, err = dec.readAll(raw, resp.ContentLength)
		out.Warnings = append(out.Warnings, dec.warnings...)
	}
	out.RawBytes = raw.n
	switch {
	case err == nil:
		return nil
	case context.Cause(ctx) != nil:
		return err // a wait was over or the caller left: half a body is no answer
	case out.Truncated && errors.Is(raw.err, errLimit):
		out.Warnings = append(out.Warnings, fmt.Sprintf("body_limit: only the first %d bytes of the body were read", len(out.Body)))
		return nil
	case out.Truncated:
		out.BrokeOff = true
		out.Warnings = append(out.Warnings, "body_broke_off: the connection or the compressed body ended early; what came is kept")
		return nil
	case raw.err != nil:
		return raw.err
	default:
		return &Error{Kind: KindDecode, Message: fmt.Sprintf("%s: the body cannot be decoded", host), Err: err}
	}
}

func hostOf(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		return u.Host
	}
	return "the address"
}

// idleReader calls expire when a single Read waits longer than the limit.
type idleReader struct {
	r     io.Reader
	timer *time.Timer
	limit time.Duration
}

func newIdleReader(r io.Reader, limit time.Duration, expire func()) *idleReader {
	t := time.AfterFunc(limit, expire)
	return &idleReader{r: r, timer: t, limit: limit}
}

func (i *idleReader) Read(p []byte) (int, error) {
	i.timer.Reset(i.limit)
	n, err := i.r.Read(p)
	i.timer.Stop()
	return n, err
}

func (i *idleReader) stop() { i.timer.Stop() }
