// Package world is a small internet on loopback for whole stories: a site, a
// results page of a search engine that leads to it, a scripted model, and the
// suite itself with every service real.
package world

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/modelserver"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
)

// Article is the text that the site's article is about.
const Article = "Nanoclaws are the smallest claws that were ever measured: forty nanometres from tip to tip."

// ModelID is the id of the scripted model.
const ModelID = "scripted"

// World is what a story happens in.
type World struct {
	Site  *httptest.Server
	Model *modelserver.Server
	// ModelURL is the api_url of the model.
	ModelURL string
	// Config is a configuration for this world, with its own data folder.
	Config suite.Config
}

// New makes a world whose model follows the script.
func New(t testing.TB, script string) *World {
	t.Helper()
	parsed, err := modelserver.Parse([]byte(script))
	if err != nil {
		t.Fatalf("script: %v", err)
	}
	w := &World{Model: modelserver.New(parsed)}
	w.Site = httptest.NewServer(w.site())
	t.Cleanup(w.Site.Close)
	model := httptest.NewServer(w.Model)
	t.Cleanup(func() { w.Model.Close(); model.Close() })
	w.ModelURL = model.URL + "/v1"
	w.Config = w.config(t.TempDir())
	return w
}

func (w *World) config(dataDir string) suite.Config {
	cfg := suite.DefaultConfig()
	cfg.DataDir = dataDir
	cfg.HTTP.Addr, cfg.GRPC.Addr, cfg.Admin.Addr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Netguard.Allow = []string{strings.TrimPrefix(w.Site.URL, "http://")}
	cfg.Search.Adapter = "bing"
	cfg.Search.Bing.BaseURL = w.Site.URL
	cfg.Models = []orchestrator.ModelConfig{{ID: ModelID, APIURL: w.ModelURL, APIKey: config.Secret("a-key-for-tests")}}
	cfg.DefaultModel = ModelID
	return cfg
}

// site serves the article, and a results page that leads to it.
func (w *World) site() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /search", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(rw, resultsPage(r.URL.Query().Get("q"), w.Site.URL))
	})
	mux.HandleFunc("GET /article", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(rw, "<!doctype html><html><head><title>On nanoclaws</title></head><body><article><h1>On nanoclaws</h1><p>%s</p></article></body></html>", Article)
	})
	return mux
}

// resultsPage is a page in the layout of Bing with three results for the query.
func resultsPage(query, site string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html><html><head><title>%s - Search</title></head><body><input name="q" value="%s"><ol id="b_results">`, query, query)
	for i, path := range []string{"/article", "/other", "/third"} {
		fmt.Fprintf(&b, `<li class="b_algo"><h2><a href="%s%s">%s, result %d</a></h2><div class="b_caption"><p class="b_lineclamp2">All about %s.</p></div></li>`,
			site, path, query, i+1, query)
	}
	b.WriteString(`</ol></body></html>`)
	return b.String()
}

// Start starts the suite in this process. It is stopped with the test.
func (w *World) Start(t testing.TB, change ...func(*suite.Options)) *suite.Suite {
	t.Helper()
	o := suite.Options{Listen: true, Logger: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn})), Version: "test"}
	for _, c := range change {
		c(&o)
	}
	s, err := suite.Start(t.Context(), w.Config, o)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}
