//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// control is what scenarios may do to the world:
//
//	POST /cut                 cuts every connection now
//	POST /cut?streams=20      cuts the next event streams, each after some bytes
//	GET  /cuts                tells how many event streams were cut so far
//	POST /stop, /start        stops the server as Ctrl+C does, and starts it again
//	POST /hold?name=x         makes calls of hands__tally for the name wait
//	GET  /held?name=x         answers when one waits
//	POST /release?name=x      lets them go on
type control struct {
	proxy *proxy
	hands *world.Hands
	start func() error
	stop  func() error

	mu   sync.Mutex
	held map[string]*world.Held
}

func (c *control) serve(t testing.TB) (url string) {
	t.Helper()
	c.held = map[string]*world.Held{}
	mux := http.NewServeMux()
	does := func(pattern string, do func(*http.Request) (string, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			text, err := do(r)
			if err != nil {
				w.WriteHeader(http.StatusInternalServerError)
				text = err.Error()
			}
			_, _ = io.WriteString(w, text)
		})
	}
	does("POST /cut", func(r *http.Request) (string, error) {
		streams := r.FormValue("streams")
		if streams == "" {
			return strconv.Itoa(c.proxy.cutAll()), nil
		}
		n, err := strconv.Atoi(streams)
		c.proxy.cutStreams(n)
		return streams, err
	})
	does("GET /cuts", func(*http.Request) (string, error) { return strconv.Itoa(c.proxy.cutCount()), nil })
	does("POST /stop", func(*http.Request) (string, error) { return "", c.stop() })
	does("POST /start", func(*http.Request) (string, error) { return "", c.start() })
	does("POST /hold", func(r *http.Request) (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		name := r.FormValue("name")
		c.held[name] = c.hands.Hold(name)
		return "", nil
	})
	does("GET /held", func(r *http.Request) (string, error) {
		held, err := c.find(r)
		if err != nil {
			return "", err
		}
		select {
		case <-held.Entered:
			return "", nil
		case <-r.Context().Done():
			return "", r.Context().Err()
		}
	})
	does("POST /release", func(r *http.Request) (string, error) {
		held, err := c.find(r)
		if err == nil {
			held.Release()
		}
		return "", err
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func (c *control) find(r *http.Request) (*world.Held, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.held[r.FormValue("name")]
	if held == nil {
		return nil, fmt.Errorf("nothing is held by the name of %q", r.FormValue("name"))
	}
	return held, nil
}
