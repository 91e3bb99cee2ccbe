// Package transport sends planned requests and brings answers back as data.
// It is the same for all engines, so that limits, timeouts, the address guard
// and decoding are decided in one place.
package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/domains"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// MaxBodyBytes is how much of a decoded answer is read. Result pages have up
// to 0.6 MB.
const MaxBodyBytes = 2 << 20

const dialTimeout = 5 * time.Second

// Trust says who chose an address.
type Trust bool

const (
	// Guarded is for addresses that are built in: they pass the address
	// guard like any other.
	Guarded Trust = false
	// ByOperator is for addresses from the configuration, which may be
	// private. Where they redirect to is guarded all the same.
	ByOperator Trust = true
)

// Client sends requests. It is safe for concurrent use.
type Client struct {
	guard   *netguard.Guard
	guarded *http.Transport
	direct  *http.Transport
}

// Options are what a client may do in another way.
type Options struct {
	// Dial reaches addresses from the configuration; nil means over the network,
	// within 5 s.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// New makes a client. Close it at the end.
func New(guard *netguard.Guard) *Client { return NewWith(guard, Options{}) }

// NewWith makes a client with options. Close it at the end.
func NewWith(guard *netguard.Guard, o Options) *Client {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	direct := guard.Transport(netguard.TransportOptions{})
	direct.DialContext = o.Dial
	return &Client{guard: guard, guarded: guard.Transport(netguard.TransportOptions{}), direct: direct}
}

// Close ends idle connections.
func (c *Client) Close() {
	c.guarded.CloseIdleConnections()
	c.direct.CloseIdleConnections()
}

// Do sends a request and reads the answer until ctx ends. An answer of any
// status is an answer; an error means that there was none that could be read,
// and Failure says which outcome that is.
func (c *Client) Do(ctx context.Context, req adapter.Request, trust Trust) (adapter.Response, error) {
	r, err := http.NewRequestWithContext(ctx, req.Method, req.URL, bytes.NewReader(req.Body))
	if err != nil {
		return adapter.Response{}, fmt.Errorf("search: make request: %w", bare(err))
	}
	r.Header = req.Header.Clone()

	client := http.Client{Transport: c.route(trust), CheckRedirect: c.redirect}
	if req.Keyed {
		// net/http would repeat a key in a header of its own name wherever the
		// answer sends it.
		client.CheckRedirect = stay
	}
	resp, err := client.Do(r)
	if err != nil {
		return adapter.Response{}, fmt.Errorf("search: send request: %w", bare(err))
	}
	defer resp.Body.Close()
	raw, truncated, err := readBody(resp.Body, resp.Header.Get("Content-Encoding"))
	if err != nil {
		return adapter.Response{}, fmt.Errorf("search: read answer: %w", err)
	}
	return adapter.Response{
		Status:     resp.StatusCode,
		Header:     resp.Header,
		Body:       UTF8(raw, resp.Header.Get("Content-Type")),
		Truncated:  truncated,
		ReceivedAt: time.Now(),
	}, nil
}

// route picks the dialler of each hop: only the first one of an operator's
// address goes around the guard.
func (c *Client) route(trust Trust) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if trust == ByOperator && r.Response == nil {
			return c.direct.RoundTrip(r)
		}
		return c.guarded.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// redirect follows within the engine's own domain. A redirect that leaves it
// is handed to the adapter as the answer: engines send suspects to a host of
// their own for captchas.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	if err := c.guard.CheckRedirect(req, via); err != nil {
		return err
	}
	if domains.Registrable(req.URL.Hostname()) != domains.Registrable(via[0].URL.Hostname()) {
		return http.ErrUseLastResponse
	}
	return nil
}

// stay follows no redirect: it is the answer.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// bare takes the address off an error of net/http: it holds the query.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Failure gives the outcome of an error of Do.
func Failure(err error) outcome.Outcome {
	var refused *netguard.Error
	var timeout net.Error
	switch {
	case errors.As(err, &refused):
		return outcome.Because(outcome.Transport, "address refused: "+refused.Reason)
	case errors.Is(err, context.Canceled):
		return outcome.Because(outcome.Cancelled, "the caller went away")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return outcome.Because(outcome.Timeout, "no whole answer in time")
	case errors.Is(err, errCoding):
		return outcome.Because(outcome.Transport, "the answer cannot be decompressed")
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return outcome.Because(outcome.Transport, "no connection")
	}
	return outcome.Because(outcome.Transport, "the connection broke")
}
