package search

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestAMergeTellsWhatEachEngineCameTo(t *testing.T) {
	tea := bingPage("tea guide", addressesOf("a")...)
	altered := strings.ReplaceAll(spelledPage, "tea ceremony", "tea guide book")
	cases := []struct {
		name        string
		bing, brave http.HandlerFunc
		told        string
		alone       bool // nothing is confirmed by another
	}{
		{"both", says(200, tea), braveAnswer("tea guide", addressesOf("b")), "", false},
		{"one finds nothing", says(200, nothingPage), braveAnswer("tea guide", addressesOf("b")), "bing found nothing", true},
		{"one has results elsewhere", says(200, bingPage("tea guide", "https://x.other.example/")), braveAnswer("tea guide", addressesOf("b")), "bing has results, but none on the domains asked for", true},
		{"one searched for something else", says(200, altered), braveAnswer("tea guide", addressesOf("b")), `bing searched for "tea guide book", so its results are left out`, true},
		{"one sends decoys", says(200, bingPage("football scores", addressesOf("x", "y", "z")...)), braveAnswer("tea guide", addressesOf("b")), "bing was asked too and did not answer (DECOY_SUSPECTED)", true},
		{"one is blocked and one finds nothing", says(200, challengePage), braveAnswer("tea guide", nil), "bing was asked too and did not answer (CHALLENGE)", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, w, end := startInMemory(t, nil)
			defer end()
			w.set("bing", c.bing)
			w.set("brave", c.brave)
			r := fusedOf("bing", "brave_web")
			r.BlockedDomains = []string{"other.example"}
			got, err := s.Search(as(t, "ann"), r)
			if err != nil || !strings.Contains(got.Markdown, c.told) || strings.Contains(got.Markdown, "confirmed by another") != c.alone {
				t.Errorf("the model reads %s (%v)", got.GetMarkdown(), err)
			}
			if c.told == "" && strings.Contains(got.Markdown, "Note:") {
				t.Errorf("the model reads %s", got.Markdown)
			}
		})
	}
}

// unplanned is an adapter with a fault in its plans.
type unplanned struct{ adapter.Adapter }

func (unplanned) Plan(adapter.Query) (adapter.Plan, error) { panic("a fault") }

func TestAFaultOfAnAdapterIsItsOwn(t *testing.T) {
	t.Run("in a plan", func(t *testing.T) {
		s, w, end := startInMemory(t, nil)
		defer end()
		s.engines["bing"].Adapter = unplanned{s.engines["bing"].Adapter}
		w.set("duckduckgo", says(200, duckPage("tea", "https://tea.example/")))
		for _, mode := range []string{"single", "fused"} {
			r := ask("tea")
			r.Mode = mode
			if got, err := s.Search(as(t, "ann"), r); err != nil || trail(got) != "bing=UNSUPPORTED_OPTION duckduckgo=OK" {
				t.Errorf("%s: %s (%v)", mode, trail(got), err)
			}
		}
	})
	t.Run("on an answer", func(t *testing.T) {
		dir := t.TempDir()
		s, w, end := startInMemory(t, func(c *Config) { c.Adapter = "bing" }, func(d *Deps) { d.UnreadDir = dir })
		defer end()
		s.engines["bing"].Adapter = panicking{s.engines["bing"].Adapter}
		w.set("bing", says(200, "<p>what it fails on"))
		for _, query := range []string{"tea", "tea one", "tea two", "tea three"} {
			if _, err := s.Search(as(t, "ann"), ask(query)); err == nil {
				t.Error("no error")
			}
		}
		files, err := filepath.Glob(filepath.Join(dir, "bing", "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%v (%v)", files, err)
		}
		if text, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(text), "what it fails on") {
			t.Errorf("%s (%v)", text, err)
		}
		if n := w.times("bing"); n != 3 {
			t.Errorf("asked %d times: nothing is learnt from faults", n)
		}
	})
}

func TestAnOldAnswerIsToldToThoseWhoWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w, end := startInMemory(t, func(c *Config) { c.Adapter = "bing" })
		defer end()
		w.set("bing", says(200, bingPage("tea", "https://tea.example/")))
		if _, err := s.Search(as(t, "ann"), ask("tea")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		w.set("bing", says(200, challengePage))
		to := &recorder{ctx: as(t, "ann")}
		if err := s.SearchStream(ask("tea"), to); err != nil {
			t.Fatal(err)
		}
		want := "started single bing\nquery_update bing tea\nattempt_finished bing=CHALLENGE\nsearch_results_received bing tea\nattempt_finished bing=OK\nfinal OK"
		if got := to.story(); got != want {
			t.Errorf("got\n%s", got)
		}
	})
}

// stuck is a reader of a stream who reads nothing.
type stuck struct{ *recorder }

func (s stuck) Send(*searchv1.SearchEvent) error {
	<-s.ctx.Done()
	return s.ctx.Err()
}

func TestASlowReaderHoldsUpNobodyElse(t *testing.T) {
	for _, mode := range []string{"single", "fused"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w, end := startInMemory(t, nil)
				defer end()
				w.set("bing", after(time.Second, says(200, bingPage("tea guide", addressesOf("a")...))))
				w.set("brave", after(time.Second, braveAnswer("tea guide", addressesOf("b"))))
				r := fusedOf("bing", "brave_web")
				r.Mode = mode
				ctx, cancel := context.WithCancel(as(t, "ann"))
				ended := make(chan error, 1)
				go func() { ended <- s.SearchStream(r, stuck{&recorder{ctx: ctx}}) }()
				synctest.Wait()
				start := time.Now()
				if got, err := s.Search(as(t, "bob"), r); err != nil || len(got.Results) == 0 || time.Since(start) != time.Second {
					t.Errorf("%v after %s (%v)", got, time.Since(start), err)
				}
				cancel()
				if err := <-ended; err == nil {
					t.Error("no error")
				}
			})
		})
	}
}

func TestACancelledToolCallEndsItsQuestions(t *testing.T) {
	s, w, end := startInMemory(t, nil)
	t.Cleanup(end)
	asked, gone := make(chan struct{}), make(chan struct{})
	w.set("bing", func(to http.ResponseWriter, r *http.Request) {
		close(asked)
		silent(to, r)
		close(gone)
	})
	c := provider(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := toolkit.Invoke(ctx, c, &toolv1.CallToolRequest{Name: ToolName, ArgumentsJson: `{"query":"tea"}`}, toolkit.InvokeOptions{})
		ended <- err
	}()
	<-asked
	cancel()
	if err := <-ended; err == nil {
		t.Error("no error")
	}
	<-gone
	if w.times("duckduckgo") != 0 {
		t.Error("the next engine was asked")
	}
	if r := s.health.Look(t.Context(), s.engines["bing"].place); r.Breaker.Phase(time.Now()) != "closed" || len(r.Breaker.Samples) != 0 || r.Breaker.Reason != outcome.Code("") {
		t.Errorf("it counts against the engine: %+v", r)
	}
}
