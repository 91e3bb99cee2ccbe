package httpfetch

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testConfig keeps the waits of a failing test short.
func testConfig() Config {
	cfg := DefaultConfig()
	cfg.MaxRetries = 0
	cfg.BackoffBase = time.Millisecond
	return cfg
}

// serve starts a server on loopback.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// clientFor makes a client that may reach exactly these servers.
func clientFor(t *testing.T, cfg Config, servers ...*httptest.Server) *Client {
	t.Helper()
	var allow []string
	for _, s := range servers {
		allow = append(allow, s.Listener.Addr().String())
	}
	guard, err := netguard.New(netguard.Config{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	c := New(cfg, guard)
	t.Cleanup(c.Close)
	return c
}

func mustGet(t *testing.T, c *Client, url string) *Response {
	t.Helper()
	resp, err := c.Get(context.Background(), Request{URL: url})
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return resp
}

// mustFail wants a failure of one kind.
func mustFail(t *testing.T, c *Client, url string, kind Kind) *Error {
	t.Helper()
	_, err := c.Get(context.Background(), Request{URL: url})
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("Get: %v, want an *Error of kind %s", err, kind)
	}
	if e.Kind != kind {
		t.Fatalf("kind %s (%s; %v), want %s", e.Kind, e.Message, e.Err, kind)
	}
	return e
}

// encode applies one content coding.
func encode(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w interface {
		Write([]byte) (int, error)
		Close() error
	}
	var err error
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw deflate":
		w, err = flate.NewWriter(&b, flate.BestCompression)
	default:
		t.Fatalf("no coding %s", coding)
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
