package robots

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
)

// site is a server on loopback that counts what is asked of it.
type site struct {
	*httptest.Server
	requests atomic.Int64
}

func newSite(t *testing.T, h http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) address(t *testing.T, path string) *url.URL {
	t.Helper()
	u, err := url.Parse(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// newChecker may go to the sites.
func newChecker(t *testing.T, c cache.Cache, sites ...*site) *Checker {
	t.Helper()
	var allow []string
	for _, s := range sites {
		allow = append(allow, s.Listener.Addr().String())
	}
	guard, err := netguard.New(netguard.Config{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	cfg := httpfetch.DefaultConfig()
	client := httpfetch.New(cfg, guard)
	checker := New(Config{Client: client, HTTP: cfg, Cache: c})
	t.Cleanup(func() {
		checker.Close()
		client.Close()
	})
	return checker
}

func answer(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func mustCheck(t *testing.T, c *Checker, u *url.URL) *Verdict {
	t.Helper()
	v, err := c.Check(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const noA = "User-agent: *\nDisallow: /a\nCrawl-delay: 2\n"

func TestAnAnswerSaysWhatHoldsAndForHowLong(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(noA))
	_ = z.Close()
	other := newSite(t, answer(200, noA))
	tests := []struct {
		name    string
		handler http.HandlerFunc
		state   State
		a, b    bool // whether /a and /b are allowed
		valid   time.Duration
	}{
		{"rules", answer(200, noA), StateRules, false, true, maxValid},
		{"rules of any type", answer(200, noA, "Content-Type", "application/octet-stream"), StateRules, false, true, maxValid},
		{"compressed rules", answer(200, packed.String(), "Content-Encoding", "gzip"), StateRules, false, true, maxValid},
		{"an empty file", answer(200, ""), StateNone, true, true, maxValid},
		{"no content", answer(204, ""), StateNone, true, true, maxValid},
		{"a page in its place", answer(200, "<!doctype html><html><body>Welcome: all of you</body></html>", "Content-Type", "text/html"), StateNone, true, true, maxValid},
		{"over the limit", answer(200, noA+strings.Repeat("#", MaxBytes)+"\nDisallow: /b"), StateRules, false, true, maxValid},
		{"not found", answer(404, noA), StateNone, true, true, maxValid},
		{"gone", answer(410, ""), StateNone, true, true, maxValid},
		{"unauthorised", answer(401, ""), StateNone, true, true, maxValid},
		{"forbidden", answer(403, "User-agent: *\nDisallow: /"), StateNone, true, true, maxValid},
		{"a redirect that leads nowhere", answer(302, ""), StateNone, true, true, maxValid},
		{"too many requests", answer(429, ""), StateUnreachable, false, false, minUnreachable},
		{"too many requests, come back", answer(429, "", "Retry-After", "120"), StateUnreachable, false, false, 2 * time.Minute},
		{"too many requests, come back next year", answer(503, "", "Retry-After", "9999999"), StateUnreachable, false, false, maxUnreachable},
		{"an error of the server", answer(500, "User-agent: *\nAllow: /"), StateUnreachable, false, false, minUnreachable},
		{"bad gateway", answer(502, ""), StateUnreachable, false, false, minUnreachable},
		{"an invented status", answer(599, ""), StateUnreachable, false, false, minUnreachable},
		{"a redirect on the host", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.Redirect(w, r, "/other.txt", http.StatusMovedPermanently)
				return
			}
			answer(200, noA)(w, r)
		}, StateRules, false, true, maxValid},
		{"a redirect to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/robots.txt", http.StatusFound)
		}, StateRules, false, true, maxValid},
		{"five redirects", redirects(5), StateRules, false, true, maxValid},
		{"six redirects", redirects(6), StateNone, true, true, maxValid},
		{"redirects without an end", redirects(1 << 30), StateNone, true, true, maxValid},
		{"a redirect to a private address", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://10.0.0.1/robots.txt", http.StatusFound)
		}, StateUnreachable, false, false, minUnreachable},
		{"it breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(noA))
		}, StateUnreachable, false, false, minUnreachable},
		{"no answer at all", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, StateUnreachable, false, false, minUnreachable},
		{"an hour", answer(200, noA, "Cache-Control", "public, Max-Age=3600"), StateRules, false, true, time.Hour},
		{"a year is a day", answer(200, noA, "Cache-Control", "max-age=31536000"), StateRules, false, true, maxValid},
		{"not at all is five minutes", answer(200, noA, "Cache-Control", "no-store, max-age=7200"), StateRules, false, true, minValid},
		{"zero is five minutes", answer(404, "", "Cache-Control", "max-age=0"), StateNone, true, true, minValid},
		{"nonsense is a day", answer(200, noA, "Cache-Control", "max-age=soon"), StateRules, false, true, maxValid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.handler)
			c := newChecker(t, cache.NewMemory(1<<20), s, other)
			before := time.Now()
			v := mustCheck(t, c, s.address(t, "/a"))
			if v.State != tt.state || v.Allows(s.address(t, "/a")) != tt.a || v.Allows(s.address(t, "/b")) != tt.b {
				t.Errorf("%s: %+v", v.State, v)
			}
			if (v.State == StateUnreachable) != (v.Reason != "") || (v.State == StateRules) != (v.Delay == 2*time.Second) {
				t.Errorf("delay %s, reason %q", v.Delay, v.Reason)
			}
			if from, to := v.Until.Sub(before), time.Until(v.Until); from < tt.valid || to > tt.valid {
				t.Errorf("valid for %s, want %s", from, tt.valid)
			}
			if !v.Allows(s.address(t, "/robots.txt")) {
				t.Error("robots.txt itself is not allowed")
			}
			asked := s.requests.Load()
			again := mustCheck(t, c, s.address(t, "/b"))
			if again.State != v.State || again.Delay != v.Delay || again.Reason != v.Reason || again.Allows(s.address(t, "/a")) != tt.a || s.requests.Load() != asked {
				t.Errorf("asked again after %d requests: %d; %+v", asked, s.requests.Load(), again)
			}
		})
	}
}

// redirects gives the rules after n of them.
func redirects(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		done := strings.Count(r.URL.Path, "/hop")
		if done == n {
			answer(200, noA)(w, r)
			return
		}
		http.Redirect(w, r, strings.Repeat("/hop", done+1), http.StatusFound)
	}
}

func TestAnOriginThatNothingCanBeAskedOfIsAnError(t *testing.T) {
	secure := httptest.NewTLSServer(answer(200, noA))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer secure.Close()
	closed := newSite(t, answer(200, noA))
	closed.Close()
	c := newChecker(t, cache.NewMemory(1<<20), &site{Server: secure}, closed)
	for raw, kind := range map[string]httpfetch.Kind{
		"http://127.0.0.1:1/": httpfetch.KindRefused,
		secure.URL:            httpfetch.KindTLS,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second is known
			var failed *httpfetch.Error
			if v, err := c.Check(t.Context(), u); !errors.As(err, &failed) || failed.Kind != kind || failed.Retryable || failed.Message == "" {
				t.Errorf("%s: %+v, %v", raw, v, err)
			}
		}
	}
	if v := mustCheck(t, c, closed.address(t, "/")); v.State != StateUnreachable {
		t.Errorf("a server that is down: %+v", v)
	}
}

func TestWhichFailuresAreThoseOfEveryPage(t *testing.T) {
	for _, tt := range []struct {
		e    httpfetch.Error
		want bool
	}{
		{httpfetch.Error{Kind: httpfetch.KindDNS}, true},
		{httpfetch.Error{Kind: httpfetch.KindDNS, Retryable: true}, false},
		{httpfetch.Error{Kind: httpfetch.KindDNS, Redirects: 1}, false},
		{httpfetch.Error{Kind: httpfetch.KindRefused}, true},
		{httpfetch.Error{Kind: httpfetch.KindTLS}, true},
		{httpfetch.Error{Kind: httpfetch.KindConnect, Retryable: true}, false},
		{httpfetch.Error{Kind: httpfetch.KindTimeout, Retryable: true}, false},
		{httpfetch.Error{Kind: httpfetch.KindDecode}, false},
		{httpfetch.Error{Kind: httpfetch.KindTooLarge}, false},
	} {
		if isRefusal(&tt.e) != tt.want {
			t.Errorf("%+v: %v", tt.e, !tt.want)
		}
	}
}

func TestEachFailureInARowHoldsLonger(t *testing.T) {
	var known *Verdict
	var got []time.Duration
	for range 12 {
		before := time.Now()
		known = unreachable(known, 0, "away")
		got = append(got, known.Until.Sub(before).Round(time.Second))
	}
	if got[0] != 10*time.Second || got[1] != 20*time.Second || got[5] != 320*time.Second || got[11] != time.Hour {
		t.Errorf("waits %v", got)
	}
	if again := unreachable(found(StateNone, Rules{}, time.Hour), 0, "away"); again.Failures != 1 {
		t.Errorf("after an answer: %d failures", again.Failures)
	}
}

// stale is a cache in which everything holds no more.
type stale struct{ cache.Cache }

func (s stale) Get(ctx context.Context, key string) ([]byte, bool, error) {
	raw, ok, err := s.Cache.Get(ctx, key)
	if i := bytes.Index(raw, []byte(`"u":"`)); i >= 0 {
		copy(raw[i+len(`"u":"`):], "2001")
	}
	return raw, ok, err
}

func TestAnOriginIsAskedAgainWhenItsTimeIsUp(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "", http.StatusBadGateway) })
	c := newChecker(t, stale{cache.NewMemory(1 << 20)}, s)
	for failures := range 3 {
		if v := mustCheck(t, c, s.address(t, "/")); v.Failures != failures+1 || s.requests.Load() != int64(failures+1) {
			t.Fatalf("%d failures, %d requests", v.Failures, s.requests.Load())
		}
	}
}

func TestReplicasShareWhatOneFound(t *testing.T) {
	s := newSite(t, answer(200, noA))
	shared := cache.NewMemory(1 << 20)
	mustCheck(t, newChecker(t, shared, s), s.address(t, "/"))
	if v := mustCheck(t, newChecker(t, shared, s), s.address(t, "/")); v.Delay != 2*time.Second || s.requests.Load() != 1 {
		t.Errorf("%d requests; %+v", s.requests.Load(), v)
	}
}

// broken is a cache that cannot be asked, or says what nobody understands.
type broken struct{ raw []byte }

func (b broken) Get(context.Context, string) ([]byte, bool, error) {
	if b.raw == nil {
		return nil, false, errors.New("away")
	}
	return b.raw, true, nil
}
func (broken) Set(context.Context, string, []byte, time.Duration) error { return errors.New("away") }
func (broken) Delete(context.Context, string) error                     { return errors.New("away") }

func TestWithoutACacheTheOriginIsAsked(t *testing.T) {
	for _, c := range []broken{{}, {[]byte("{")}} {
		s := newSite(t, answer(200, noA))
		if v := mustCheck(t, newChecker(t, c, s), s.address(t, "/")); v.State != StateRules {
			t.Errorf("%+v", v)
		}
	}
}

func TestAnOriginIsFetchedOnceWhoeverAsks(t *testing.T) {
	release := make(chan struct{})
	entered := make(chan struct{}, 1)
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
		answer(200, noA)(w, r)
	})
	c := newChecker(t, cache.NewMemory(1<<20), s)
	first, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := c.Check(first, s.address(t, "/"))
		left <- err
	}()
	<-entered
	var others sync.WaitGroup
	for range 20 {
		others.Go(func() {
			if v, err := c.Check(t.Context(), s.address(t, "/")); err != nil || v.State != StateRules {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left got %v", err)
	}
	close(release)
	others.Wait()
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestCloseEndsWhatIsBeingFetched(t *testing.T) {
	entered, gone := make(chan struct{}), make(chan struct{})
	s := newSite(t, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		close(gone)
	})
	c := newChecker(t, cache.NewMemory(1<<20), s)
	asked := make(chan error, 1)
	go func() {
		_, err := c.Check(context.Background(), s.address(t, "/"))
		asked <- err
	}()
	<-entered
	c.Close()
	if err := <-asked; !errors.Is(err, errClosed) {
		t.Errorf("who waits gets %v", err)
	}
	if _, err := c.Check(t.Context(), s.address(t, "/")); !errors.Is(err, errClosed) {
		t.Errorf("who comes later gets %v", err)
	}
	<-gone
}
