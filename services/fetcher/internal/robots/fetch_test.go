package robots

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
)

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
