package provider

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// transport answers every request by a function.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// answer is a transport whose answer is body, read in pieces of at most the
// sizes that next returns.
func answer(status int, header map[string]string, body string, next func() int) transport {
	return func(*http.Request) (*http.Response, error) {
		h := make(http.Header)
		for k, v := range header {
			h.Set(k, v)
		}
		return &http.Response{
			StatusCode: status, Header: h,
			Body: io.NopCloser(&pieces{Reader: strings.NewReader(body), next: next}),
		}, nil
	}
}

// pieces hands out its input in pieces.
type pieces struct {
	io.Reader
	next func() int
}

func (p *pieces) Read(b []byte) (int, error) {
	return p.Reader.Read(b[:min(len(b), p.next())])
}

func whole() int { return 1 << 20 }
func one() int   { return 1 }

func newTestClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "test-model"
	}
	if cfg.APIURL == "" {
		cfg.APIURL = "http://model.invalid/v1"
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve starts an endpoint on loopback and returns a client for it.
func serve(t testing.TB, cfg Config, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	cfg.APIURL = s.URL
	return newTestClient(t, cfg)
}

var hello = Request{Messages: []Message{{Role: RoleUser, Content: "hello"}}}

// ask makes a call and collects its deltas.
func ask(c *Client, req Request) (Response, []Delta, error) {
	var deltas []Delta
	resp, err := c.Stream(context.Background(), req, func(d Delta) error {
		deltas = append(deltas, d)
		return nil
	})
	return resp, deltas, err
}

// discardLog silences the complaints of servers that are meant to fail.
var discardLog = log.New(io.Discard, "", 0)
