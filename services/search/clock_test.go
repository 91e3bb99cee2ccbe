package search

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/search/internal/enginetest"
)

// web is engines in memory, by the first label of their address, for tests on a
// fake clock.
type web struct {
	mu      sync.Mutex
	engines map[string]http.HandlerFunc
	asked   map[string]int
}

func (w *web) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(r.Host, ".")
	w.mu.Lock()
	w.asked[name]++
	h := w.engines[name]
	w.mu.Unlock()
	if h == nil {
		http.NotFound(to, r)
		return
	}
	h(to, r)
}

// set changes what an engine answers.
func (w *web) set(engine string, h http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engines[engine] = h
}

// times is how often an engine was asked.
func (w *web) times(engine string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[engine]
}

// startInMemory makes a service whose engines are in memory: bing, duckduckgo,
// baidu, and brave and tavily with keys. What it returns ends all.
func startInMemory(t testing.TB, change func(*Config), deps ...func(*Deps)) (*Service, *web, func()) {
	t.Helper()
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	at := func(name string) EngineConfig { return EngineConfig{BaseURL: "http://" + name + ".test"} }
	cfg.CallsPerMinute = 0
	cfg.Bing, cfg.DuckDuckGo, cfg.Baidu = at("bing"), at("duckduckgo"), at("baidu")
	cfg.Policy = map[string][]string{"*": {"bing", "duckduckgo"}}
	cfg.Brave = KeyedConfig{at("brave"), "BRAVE-KEY"}
	cfg.Tavily = KeyedConfig{at("tavily"), "TAVILY-KEY"}
	if change != nil {
		change(&cfg)
	}
	d := Deps{Guard: guard, Log: slog.New(slog.DiscardHandler)}
	for _, f := range deps {
		f(&d)
	}
	s, err := New(t.Context(), cfg, d)
	if err != nil {
		t.Fatal(err)
	}
	w := &web{engines: map[string]http.HandlerFunc{}, asked: map[string]int{}}
	client, end := enginetest.Client(t, w)
	s.client.Close()
	s.client = client
	return s, w, func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		end()
	}
}

// silent never answers.
func silent(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// braveAnswer is an answer of Brave Web Search about a topic, with headers in
// pairs.
func braveAnswer(topic string, addresses []string, header ...string) http.HandlerFunc {
	rows := make([]string, len(addresses))
	for i, a := range addresses {
		rows[i] = fmt.Sprintf(`{"title":%q,"url":%q,"description":"Brave about %s.","language":"en"}`, topic, a, topic)
	}
	body := fmt.Sprintf(`{"type":"search","web":{"type":"search","results":[%s]}}`, strings.Join(rows, ","))
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		_, _ = io.WriteString(w, body)
	}
}

// limits are the headers of Brave for its two windows.
func limits(second, month int) []string {
	return []string{
		"X-RateLimit-Limit", "1, 15000", "X-RateLimit-Policy", "1;w=1, 15000;w=2592000",
		"X-RateLimit-Remaining", fmt.Sprintf("%d, %d", second, month), "X-RateLimit-Reset", "1, 1419704",
	}
}

func found(r *searchv1.SearchResponse) string {
	var out []string
	for _, one := range r.GetResults() {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(one.GetUrl(), "https://"), ".example/"))
	}
	return strings.Join(out, " ")
}
