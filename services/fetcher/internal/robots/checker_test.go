package robots

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
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
