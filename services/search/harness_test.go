package search

import (
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engineAt serves a page as an engine would, at an address of its own.
func engineAt(t *testing.T, h http.HandlerFunc) EngineConfig {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return EngineConfig{BaseURL: s.URL}
}

// says answers every request alike.
func says(status int, page string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, page)
	}
}

// unasked fails the test when the engine is asked.
func unasked(t *testing.T) http.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) { t.Error("the engine was asked") }
}

func start(t *testing.T, change func(*Config)) *Service {
	t.Helper()
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	change(&cfg)
	s, err := New(t.Context(), cfg, Deps{Guard: guard, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func as(t *testing.T, user string) context.Context {
	return auth.NewContext(t.Context(), auth.UserPrincipal(user, "search", "tools"))
}

func ask(query string) *searchv1.SearchRequest { return &searchv1.SearchRequest{Query: query} }

// bingPage is a result page of Bing with a row for each address.
func bingPage(title string, addresses ...string) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><title>Search</title><ol id="b_results">`)
	for i, a := range addresses {
		fmt.Fprintf(&b, `<li class="b_algo"><h2><a href="%s">%s %d</a></h2><div class="b_caption"><p class="b_lineclamp2">Jul 12, 2025 · About %s.</p></div></li>`,
			html.EscapeString(a), title, i+1, title)
	}
	return b.String() + `</ol>`
}

func duckPage(title string, addresses ...string) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><title>at DuckDuckGo</title><div id="links">`)
	for i, a := range addresses {
		fmt.Fprintf(&b, `<div class="result web-result"><h2><a class="result__a" href="%s">%s %d</a></h2><a class="result__snippet">About %s.</a></div>`,
			html.EscapeString(a), title, i+1, title)
	}
	return b.String() + `</div>`
}

const (
	challengePage = `<title>tea - Search</title><div class="captcha"><div class="captcha_header">One last step</div></div>`
	nothingPage   = `<ol id="b_results"><li class="b_no"><h1>There are no results for tea</h1></li></ol>`
	shellPage     = `<noscript>Please enable JavaScript</noscript><div id="root"></div>`
	spelledPage   = `<ol id="b_results"><li class="b_ans"><div id="sp_requery"><h2>Including results for <a href="/search?q=tea+ceremony">tea ceremony</a>.</h2></div></li>` +
		`<li class="b_algo"><h2><a href="https://ceremony.example/">The tea ceremony</a></h2></li></ol>`
)
