package exchange

import (
	"io"
	"net/http"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/enginetest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/transport"
)

// serve gives a client whose every address is answered by h. What it returns
// ends both.
func serve(t *testing.T, h http.Handler) (*transport.Client, func()) {
	t.Helper()
	return enginetest.Client(t, h)
}

// overNetwork gives a client that asks real servers.
func overNetwork(t *testing.T) *transport.Client {
	t.Helper()
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return transport.New(guard)
}

// engineAt makes an engine that is asked at an address of the operator's.
func engineAt(t *testing.T, name, address string) adapter.Adapter {
	t.Helper()
	engine, ok := catalog.New(name, catalog.Settings{BaseURL: address, Key: "KEY", Model: "small"})
	if !ok {
		t.Fatalf("no engine is called %s", name)
	}
	return engine
}

// says answers with a status, a body and headers in pairs.
func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Add(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
