package httpfetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
)

func TestAnyStatusIsAnAnswer(t *testing.T) {
	for _, status := range []int{200, 204, 404, 410, 451, 500, 503} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			if status != 204 {
				_, _ = fmt.Fprint(w, "body")
			}
		})
		got := mustGet(t, clientFor(t, testConfig(), s), s.URL+"/x?y=1")
		if got.Status != status || got.Attempts != 1 || got.FinalURL != s.URL+"/x?y=1" {
			t.Errorf("status %d: got %d after %d attempts from %s", status, got.Status, got.Attempts, got.FinalURL)
		}
	}
}

func TestTheRequestSaysWhoAsks(t *testing.T) {
	var got http.Header
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Clone() })
	cfg := testConfig()
	cfg.UserAgent = "NanoClaw-Test/1"
	mustGet(t, clientFor(t, cfg, s), s.URL)
	if ua := got.Get("User-Agent"); ua != "NanoClaw-Test/1" {
		t.Errorf("User-Agent %q", ua)
	}
	if enc := got.Get("Accept-Encoding"); enc != "gzip, br, zstd, deflate" {
		t.Errorf("Accept-Encoding %q", enc)
	}
	if got.Get("Traceparent") != "" || got.Get("Cookie") != "" {
		t.Errorf("headers that are nobody's business: %v", got)
	}
}

func TestRedirectsAreFollowedAndRecorded(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			http.Redirect(w, r, "/b", http.StatusMovedPermanently)
		case "/b":
			http.Redirect(w, r, "/c", http.StatusFound)
		default:
			_, _ = fmt.Fprint(w, "end")
		}
	})
	got := mustGet(t, clientFor(t, testConfig(), s), s.URL+"/a")
	want := []Redirect{{s.URL + "/a", 301}, {s.URL + "/b", 302}}
	if got.FinalURL != s.URL+"/c" || len(got.Redirects) != 2 || got.Redirects[0] != want[0] || got.Redirects[1] != want[1] {
		t.Errorf("at %s over %v", got.FinalURL, got.Redirects)
	}
}

func TestTenRedirectsAreFollowedAndElevenAreNot(t *testing.T) {
	var left atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if left.Add(-1) >= 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", left.Load()), http.StatusFound)
		}
	})
	c := clientFor(t, testConfig(), s)
	left.Store(10)
	if got := mustGet(t, c, s.URL); len(got.Redirects) != 10 {
		t.Errorf("%d redirects", len(got.Redirects))
	}
	left.Store(1 << 30)
	if e := mustFail(t, c, s.URL, KindRedirect); e.Retryable {
		t.Error("a redirect loop is worth no retry")
	}
}

func TestARedirectToAnAddressThatIsNotAllowedIsNotFollowed(t *testing.T) {
	var connections atomic.Int64
	private := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	private.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	private.Start()
	defer private.Close()
	port := private.Listener.Addr().(*net.TCPAddr).Port

	targets := map[string]string{
		"loopback":             private.URL,
		"mapped loopback":      fmt.Sprintf("http://[::ffff:127.0.0.1]:%d/", port),
		"a name of this host":  fmt.Sprintf("http://localhost:%d/", port),
		"decimal loopback":     fmt.Sprintf("http://2130706433:%d/", port),
		"cloud metadata":       "http://169.254.169.254/latest/meta-data/",
		"a file":               "file:///etc/passwd",
		"credentials in a URL": "http://user:secret@example.com/",
	}
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", target)
				w.WriteHeader(http.StatusFound)
			})
			e := mustFail(t, clientFor(t, testConfig(), s), s.URL, KindRefused)
			if e.Redirects != 1 || e.Reason == "" || e.Retryable {
				t.Errorf("redirects %d, reason %q, retryable %t", e.Redirects, e.Reason, e.Retryable)
			}
			if strings.Contains(e.Error(), "secret") {
				t.Errorf("a password in %q", e.Error())
			}
		})
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections to the private server", n)
	}
}

func TestAnAddressThatIsNotAllowedIsRefusedAtOnce(t *testing.T) {
	c := clientFor(t, testConfig())
	for _, raw := range []string{"http://127.0.0.1/", "http://10.0.0.1/", "ftp://example.com/", "javascript:alert(1)", "", "http://", "/relative", "http://a b/"} {
		if e := mustFail(t, c, raw, KindRefused); e.Reason == "" || e.Attempts != 0 {
			t.Errorf("%q: reason %q after %d attempts", raw, e.Reason, e.Attempts)
		}
	}
}

func TestARedirectWithoutATargetIsAnAnswer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) })
	if got := mustGet(t, clientFor(t, testConfig(), s), s.URL); got.Status != 302 || len(got.Redirects) != 0 {
		t.Errorf("status %d over %v", got.Status, got.Redirects)
	}
}

func TestASilentServerEndsInATimeout(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	drip := func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, "<p>one")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	tests := []struct {
		name   string
		serve  http.HandlerFunc
		change func(*Config)
		words  string
	}{
		{"no first byte", hang, func(c *Config) { c.HeaderTimeout = 20 * time.Millisecond }, "no first byte"},
		{"no more of the body", drip, func(c *Config) { c.IdleTimeout = 20 * time.Millisecond }, "no more of the answer"},
		{"not done in the whole time", drip, func(c *Config) { c.Timeout = 20 * time.Millisecond }, "no whole answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.serve)
			cfg := testConfig()
			tt.change(&cfg)
			e := mustFail(t, clientFor(t, cfg, s), s.URL, KindTimeout)
			if !strings.Contains(e.Message, tt.words) || !e.Retryable {
				t.Errorf("message %q, retryable %t", e.Message, e.Retryable)
			}
		})
	}
}

func TestTheCallersContextEndsAFetch(t *testing.T) {
	began := make(chan struct{}, 2)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-r.Context().Done()
	})
	c := clientFor(t, testConfig(), s)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-began; cancel() }()
	_, err := c.Get(ctx, Request{URL: s.URL})
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindCancelled {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err = c.Get(ctx, Request{URL: s.URL}); !errors.As(err, &e) || e.Kind != KindTimeout {
		t.Errorf("past the caller's deadline: %v", err)
	}
}

func TestServersThatCannotBeSpokenToFailByKind(t *testing.T) {
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	rude := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	garbage := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = buf.WriteString("220 mail.example.com ESMTP\r\n\r\n")
			_ = buf.Flush()
			_ = conn.Close()
		}
	})
	wordy := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 100*kib))
	})
	gone := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := clientFor(t, testConfig(), plain, secure, rude, garbage, wordy, gone)
	gone.Close()
	tests := []struct {
		name, url string
		kind      Kind
		words     string
	}{
		{"a certificate nobody knows", secure.URL, KindTLS, "unknown authority"},
		{"no TLS where TLS is asked", strings.Replace(plain.URL, "http:", "https:", 1), KindTLS, "does not speak TLS"},
		{"nobody listens", gone.URL, KindConnect, "connection refused"},
		{"hangs up", rude.URL, KindConnect, "broke"},
		{"speaks something else", garbage.URL, KindProtocol, "not valid HTTP"},
		{"an endless header", wordy.URL, KindTooLarge, "header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if e := mustFail(t, c, tt.url, tt.kind); !strings.Contains(e.Message, tt.words) {
				t.Errorf("message %q (%v)", e.Message, e.Err)
			}
		})
	}
}

// stubGuard allows every address and dials what it is told to.
type stubGuard struct {
	dial func(ctx context.Context) (net.Conn, error)
}

func (stubGuard) CheckURL(raw string) (*url.URL, error)              { return url.Parse(raw) }
func (stubGuard) CheckRedirect(*http.Request, []*http.Request) error { return nil }
func (g stubGuard) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return g.dial(ctx)
}

func TestDialFailuresHaveAKind(t *testing.T) {
	tests := []struct {
		name      string
		dial      func(ctx context.Context) (net.Conn, error)
		kind      Kind
		retryable bool
	}{
		{"no such name", func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "a.example", IsNotFound: true}}
		}, KindDNS, false},
		{"the name server is silent", func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "i/o timeout", Name: "a.example", IsTimeout: true}}
		}, KindDNS, true},
		{"no answer to the dial", func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
		}, KindConnect, true},
		{"the name resolves to a private address", func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: &netguard.Error{Reason: netguard.ReasonPrivate, Target: "10.0.0.1:80"}}
		}, KindRefused, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig()
			cfg.DialTimeout = 10 * time.Millisecond
			c := New(cfg, stubGuard{dial: tt.dial})
			defer c.Close()
			e := mustFail(t, c, "http://a.example/secret?token=1", tt.kind)
			if e.Retryable != tt.retryable || strings.Contains(e.Message, "token") {
				t.Errorf("retryable %t, message %q", e.Retryable, e.Message)
			}
		})
	}
}
