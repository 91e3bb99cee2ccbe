package netguard

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// client returns a client that reaches the given servers of the test and
// nothing else on loopback.
func client(t *testing.T, cfg Config, opts TransportOptions, servers ...*httptest.Server) *http.Client {
	t.Helper()
	for _, s := range servers {
		cfg.Allow = append(cfg.Allow, s.Listener.Addr().String())
	}
	g := mustNew(t, cfg)
	tr := g.Transport(opts)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: g.CheckRedirect}
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// redirectTo answers every request with a redirect.
func redirectTo(location string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
	}
}

// get returns the final status and body, closed.
func get(c *http.Client, u string) (status int, body string, err error) {
	resp, err := c.Get(u)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestRedirectChains(t *testing.T) {
	var requests atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		left, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if left == 0 {
			fmt.Fprint(w, "arrived")
			return
		}
		http.Redirect(w, r, "/"+strconv.Itoa(left-1), http.StatusFound)
	})
	c := client(t, Config{}, TransportOptions{}, s)
	for _, hops := range []int{0, 2, 10} {
		if status, body, err := get(c, fmt.Sprintf("%s/%d", s.URL, hops)); err != nil || status != 200 || body != "arrived" {
			t.Fatalf("%d redirects: %d %q %v", hops, status, body, err)
		}
	}
	requests.Store(0)
	_, _, err := get(c, s.URL+"/11")
	var refused *Error
	if !errors.As(err, &refused) || refused.Reason != ReasonTooManyRedirects {
		t.Fatalf("11 redirects: %v", err)
	}
	if got := requests.Load(); got != 11 {
		t.Fatalf("%d requests for 11 redirects, want the first and 10 more", got)
	}
}

func TestRedirectsToForbiddenPlaces(t *testing.T) {
	forbidden, port := listen(t, "127.0.0.1:0")
	dns := newStubDNS(t, map[string][]records{"inside.example.com": {{a: []string{"127.0.0.1"}}}})
	tests := []struct{ name, location, reason string }{
		{"a file", "file:///etc/passwd", ReasonScheme},
		{"gopher", "gopher://127.0.0.1:6379/_INFO", ReasonScheme},
		{"data", "data:text/html,hi", ReasonScheme},
		{"javascript", "javascript:alert(1)", ReasonScheme},
		{"loopback", "http://" + at("127.0.0.1", port), ReasonLoopback},
		{"loopback, mapped", "http://" + at("::ffff:127.0.0.1", port), ReasonLoopback},
		{"loopback, relative scheme", "//" + at("127.0.0.1", port), ReasonLoopback},
		{"loopback, decimal", "http://" + at("2130706433", port), "numeric_host"},
		{"a local name", "http://" + at("localhost", port), ReasonSpecialName},
		{"metadata", "http://169.254.169.254/latest/", ReasonMetadata},
		{"credentials", "http://user:pw@example.com/", ReasonUserinfo},
		{"a port", "http://example.com:22/", ReasonPort},
		{"a name that resolves to loopback", "http://" + at("inside.example.com", port), ReasonLoopback},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, redirectTo(tt.location))
			c := client(t, Config{Ports: []uint16{80, port}, Resolver: dns.resolver()}, TransportOptions{}, s)
			_, _, err := get(c, s.URL)
			var refused *Error
			if !errors.As(err, &refused) || refused.Reason != tt.reason {
				t.Fatalf("error %v, want reason %s", err, tt.reason)
			}
		})
	}
	untouched(t, forbidden)
}

func TestRedirectWithEmptyLocationIsAnAnswer(t *testing.T) {
	var requests atomic.Int32
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header()["Location"] = []string{""}
		w.WriteHeader(http.StatusFound)
	})
	status, _, err := get(client(t, Config{}, TransportOptions{}, s), s.URL)
	if err != nil || status != http.StatusFound || requests.Load() != 1 {
		t.Fatalf("status %d, %d requests, %v", status, requests.Load(), err)
	}
}

func TestRedirectRequestsTheNormalForm(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			mapped := strings.Replace(r.Host, "127.0.0.1", "[::FFFF:127.0.0.1]", 1)
			http.Redirect(w, r, "http://"+mapped+"/next", http.StatusFound)
			return
		}
		fmt.Fprint(w, r.Host)
	})
	_, host, err := get(client(t, Config{}, TransportOptions{}, s), s.URL)
	if err != nil || "http://"+host != s.URL {
		t.Fatalf("second request for host %q, %v; want that of %s", host, err, s.URL)
	}
}

func TestCredentialsStayOnTheirOrigin(t *testing.T) {
	tests := []struct {
		name  string
		chain []string
		keeps bool
	}{
		{"the same origin", []string{"https://a.example.com/", "https://a.example.com/x"}, true},
		{"the default port written out", []string{"https://a.example.com/", "https://a.example.com:443/x"}, true},
		{"an upgrade to https", []string{"http://a.example.com/", "https://a.example.com/"}, true},
		{"an upgrade and back", []string{"http://a.example.com/", "https://a.example.com/", "http://a.example.com/"}, true},
		{"a downgrade to http", []string{"https://a.example.com/", "http://a.example.com/"}, false},
		{"a downgrade and back", []string{"https://a.example.com/", "http://a.example.com/", "https://a.example.com/"}, false},
		{"another port", []string{"https://a.example.com/", "https://a.example.com:8443/"}, false},
		{"an upgrade from another port", []string{"http://a.example.com:8080/", "https://a.example.com/"}, false},
		{"a subdomain", []string{"https://example.com/", "https://a.example.com/"}, false},
		{"a parent", []string{"https://a.example.com/", "https://example.com/"}, false},
		{"another host", []string{"https://example.com/", "https://example.org/"}, false},
		{"another host and back", []string{"https://example.com/", "https://example.org/", "https://example.com/"}, false},
	}
	names := []string{"Authorization", "Cookie", "Proxy-Authorization", "Www-Authenticate"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var chain []*http.Request
			for _, u := range tt.chain {
				req, err := http.NewRequest(http.MethodGet, u, nil)
				if err != nil {
					t.Fatal(err)
				}
				chain = append(chain, req)
			}
			last := chain[len(chain)-1]
			for _, name := range append(names, "Accept") {
				last.Header.Set(name, "x")
			}
			if err := mustNew(t, Config{}).CheckRedirect(last, chain[:len(chain)-1]); err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if kept := last.Header.Get(name) != ""; kept != tt.keeps {
					t.Errorf("%s kept: %v, want %v", name, kept, tt.keeps)
				}
			}
			if last.Header.Get("Accept") == "" {
				t.Error("Accept is gone")
			}
		})
	}
}

func TestCredentialsDoNotReachAnotherPort(t *testing.T) {
	second := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("Authorization")+r.Header.Get("Cookie"))
	})
	first := serve(t, redirectTo(second.URL))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, first.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer hunter2")
	req.Header.Set("Cookie", "sid=hunter2")
	resp, err := client(t, Config{}, TransportOptions{}, first, second).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || len(got) != 0 {
		t.Fatalf("the second server got %q, %v", got, err)
	}
}

func TestDowngradeIsRefusedOnlyIfAsked(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		first, _ := http.NewRequest(http.MethodGet, "https://example.com/", nil)
		next, _ := http.NewRequest(http.MethodGet, "http://example.com/", nil)
		err := mustNew(t, Config{RefuseDowngrade: refuse}).CheckRedirect(next, []*http.Request{first})
		var refused *Error
		if got := errors.As(err, &refused) && refused.Reason == ReasonDowngrade; got != refuse {
			t.Fatalf("RefuseDowngrade %v: %v", refuse, err)
		}
	}
}

func TestTransportIgnoresProxiesOfTheEnvironment(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	if mustNew(t, Config{}).Transport(TransportOptions{}).Proxy != nil {
		t.Fatal("the transport has a proxy")
	}
}

func TestTransportLeavesTheBodyAsSent(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		fmt.Fprintf(w, "asked for %q", r.Header.Get("Accept-Encoding"))
	})
	if _, body, err := get(client(t, Config{}, TransportOptions{}, s), s.URL); err != nil || body != `asked for ""` {
		t.Fatalf("body %q, %v", body, err)
	}
}

func TestTransportBoundsTheResponseHeader(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		w.Header().Set("X-Long", strings.Repeat("x", size))
	})
	c := client(t, Config{}, TransportOptions{}, s)
	if status, _, err := get(c, s.URL+"/?size=32768"); err != nil || status != 200 {
		t.Fatalf("32 KiB: %d %v", status, err)
	}
	if status, _, err := get(c, s.URL+"/?size=131072"); err == nil {
		t.Fatalf("128 KiB: status %d", status)
	}
}

func TestTransportSpeaksHTTP2OverTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the second client refuses the certificate
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c := client(t, Config{}, TransportOptions{TLS: &tls.Config{RootCAs: roots}}, s)
	if _, body, err := get(c, s.URL); err != nil || body != "HTTP/2.0" {
		t.Fatalf("body %q, %v", body, err)
	}
	var untrusted *tls.CertificateVerificationError
	if _, _, err := get(client(t, Config{}, TransportOptions{}, s), s.URL); !errors.As(err, &untrusted) {
		t.Fatalf("a certificate nobody vouches for: %v", err)
	}
}

func TestRefusalComesThroughTheClient(t *testing.T) {
	c := client(t, Config{}, TransportOptions{})
	_, _, err := get(c, "http://127.0.0.1:8080/secret?q=1")
	var refused *Error
	if !errors.As(err, &refused) || refused.Reason != ReasonLoopback || refused.Target != "127.0.0.1:8080" {
		t.Fatalf("error %v", err)
	}
	var wrapped *url.Error
	if !errors.As(err, &wrapped) {
		t.Fatalf("error %T is no *url.Error", err)
	}
}
