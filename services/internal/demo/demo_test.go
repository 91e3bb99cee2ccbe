package demo

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/otlptest"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// turnTime bounds a turn on a slow machine; it is never waited for in full.
const turnTime = 2 * time.Minute

// played is what a turn of the demonstration came to.
type played struct {
	traceID string
	results map[string]string // by tool, the last one
	answer  string
}

func play(t *testing.T, d *Demo) played {
	t.Helper()
	ctx, stop := context.WithTimeout(auth.NewContext(t.Context(), d.Owner()), turnTime)
	defer stop()
	conversations := pb.NewConversationServiceClient(d.Conn())
	made, err := conversations.CreateConversation(ctx, &pb.CreateConversationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := conversations.StreamMessage(ctx, &pb.StreamMessageRequest{ConversationId: made.GetConversation().GetId(), Content: Question})
	if err != nil {
		t.Fatal(err)
	}
	p := played{results: map[string]string{}}
	texts := map[int32]string{}
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.GetEvent().(type) {
		case *pb.RunEvent_RunStarted:
			p.traceID = e.RunStarted.GetTraceId()
		case *pb.RunEvent_Message:
			m := e.Message
			texts[m.GetRound()] = texts[m.GetRound()][:m.GetOffset()] + m.GetContent()
			p.answer = texts[m.GetRound()]
		case *pb.RunEvent_ToolResult:
			for _, r := range e.ToolResult.GetResults() {
				if r.GetIsError() {
					t.Errorf("%s failed: %s", r.GetName(), r.GetContent())
				}
				p.results[r.GetName()] = r.GetContent()
			}
		case *pb.RunEvent_Error:
			t.Fatal(e.Error)
		}
	}
	return p
}

func TestFiveToolsWorkAndAreOneTrace(t *testing.T) {
	collector := otlptest.Start(t)
	d, err := Start(t.Context(), Options{Traces: &suite.TelemetryConfig{Exporter: "otlp", OTLPEndpoint: collector.Endpoint(), SampleRatio: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if missing := d.Missing(); len(missing) > 0 {
		_ = d.Close()
		t.Skipf("the fifth tool needs a sandbox with python3, and this machine has none: %v", missing)
	}
	if d.TracesTo() != collector.Endpoint() {
		t.Errorf("traces go to %q", d.TracesTo())
	}
	got := play(t, d)
	if err := d.Close(); err != nil { // also sends the last spans
		t.Fatal(err)
	}

	for _, tool := range d.Tools() {
		if got.results[tool] == "" {
			t.Errorf("%s was not called", tool)
		}
	}
	for tool, want := range map[string]string{
		"web_search":       `"url":"http://127.0.0.1:`,
		"fetch_page":       "reference grip",
		"query_crawl_task": `"progress":7`,
		"run_code":         "words on 7 pages, ",
	} {
		if !strings.Contains(got.results[tool], want) {
			t.Errorf("%s: no %q in %s", tool, want, got.results[tool])
		}
	}
	if !strings.Contains(got.answer, "- How to calibrate a nanoclaw: 6 of 117 words") {
		t.Errorf("the answer does not have what the program printed: %s", got.answer)
	}
	tree := collector.Tree(got.traceID)
	for _, span := range []string{
		"invoke_agent nanoclaw", "chat scripted-demo",
		"execute_tool web_search", "search.attempt",
		"execute_tool fetch_page", "fetch",
		"execute_tool crawl_batch", "crawl batch", "crawl.commit", "execute_tool query_crawl_task",
		"execute_tool run_code", "sandbox exec",
	} {
		if !strings.Contains(tree, "nanoclaw | "+span+"\n") {
			t.Errorf("the trace has no %q:\n%s", span, tree)
		}
	}
	if n := strings.Count(tree, "parent missing"); n > 0 {
		t.Errorf("the trace is broken in %d places:\n%s", n, tree)
	}
}

func TestWithoutASandboxFourToolsWork(t *testing.T) {
	cfg := sandbox.DefaultConfig()
	cfg.Bubblewrap = filepath.Join(t.TempDir(), "bwrap")
	d, err := Start(t.Context(), Options{Sandbox: &cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	missing := d.Missing()
	if len(missing) == 0 || !strings.Contains(missing[0].GetFix(), "apt-get install bubblewrap") {
		t.Errorf("missing: %v", missing)
	}
	if want := []string{"web_search", "fetch_page", "crawl_batch", "query_crawl_task"}; !slices.Equal(d.Tools(), want) {
		t.Errorf("tools: %v", d.Tools())
	}
	got := play(t, d)
	if got.results["run_code"] != "" || !strings.Contains(got.answer, "I read 7 pages of its handbook; this machine has no sandbox") {
		t.Errorf("%s", got.answer)
	}
}

func TestNothingIsLeftBehindAndNobodyElseGetsIn(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(d.URL())
	if err != nil || at.Hostname() != "127.0.0.1" || !strings.HasPrefix(at.Query().Get("token"), "nc_") {
		t.Errorf("%q, %v", d.URL(), err)
	}
	at.Path, at.RawQuery = "/api/tools", ""
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(at.String())
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: %s", res.Status)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestEveryPageOfTheSiteIsWhole(t *testing.T) {
	all, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 10 {
		t.Errorf("%d pages", len(all))
	}
	for _, p := range all {
		if p.Title == "" || p.Summary == "" || strings.Contains(string(p.Body), "'''") {
			t.Errorf("%s: %q, %q", p.Name, p.Title, p.Summary)
		}
	}
}

func TestTheSearchEngineFindsByWords(t *testing.T) {
	all, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		query string
		first string
		n     int
	}{
		{"nanoclaw calibration", "calibration", 9},
		{"how hard does it grip?", "grip", -1},
		{"zeppelin", "", 0},
	} {
		found := find(tc.query, all)
		if tc.n >= 0 && len(found) != tc.n || tc.first != "" && found[0].Name != tc.first {
			var names []string
			for _, p := range found {
				names = append(names, p.Name)
			}
			t.Errorf("%q: %q", tc.query, names)
		}
	}
}
