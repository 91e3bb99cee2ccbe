package world

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
)

// Sites are web sites that keep a log of what they were asked for. Every page
// has a text of its own.
type Sites struct {
	// Hosts are host:port of each site.
	Hosts []string
	// Delay is the time before a page is answered.
	Delay time.Duration
	// Robots is the robots.txt of every site; empty: there is none.
	Robots string

	mu  sync.Mutex
	log []Visit
}

// Visit is one request for a page; robots.txt is not a page.
type Visit struct {
	Host, Path string
	At         time.Time
}

// NewSites starts n sites and lets the world fetch them.
func (w *World) NewSites(t testing.TB, n int, delay time.Duration, robots string) *Sites {
	t.Helper()
	s := &Sites{Delay: delay, Robots: robots}
	for range n {
		lis, err := net.Listen("tcp", addrtest.Reserve(t))
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(s.serve)}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(lis) })
		t.Cleanup(func() { _ = server.Close(); serving.Wait() })
		s.Hosts = append(s.Hosts, lis.Addr().String())
	}
	w.Config.Netguard.Allow = append(w.Config.Netguard.Allow, s.Hosts...)
	return s
}

func (s *Sites) serve(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		if s.Robots == "" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprint(rw, s.Robots)
		return
	}
	s.mu.Lock()
	s.log = append(s.log, Visit{Host: r.Host, Path: r.URL.Path, At: time.Now()})
	s.mu.Unlock()
	select {
	case <-time.After(s.Delay):
	case <-r.Context().Done():
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(rw, `<!doctype html><html lang="en"><head><title>Page %[1]s</title></head><body><main><h1>Page %[1]s</h1>
<p>This page is called %[1]s and tells what only a page of this name can tell, in words enough for a paragraph.</p></main></body></html>`, name)
}

// Page is the address of a page of the site with number i.
func (s *Sites) Page(i int, name string) string {
	return "http://" + s.Hosts[i%len(s.Hosts)] + "/" + name
}

// Visits is the log so far, in the order of arrival.
func (s *Sites) Visits() []Visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Visit(nil), s.log...)
}
