package exchange

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deadline is how long an attempt may take in these tests, on a fake clock.
const deadline = 6 * time.Second

const (
	bingRows = `<ol id="b_results"><li class="b_algo"><h2><a href="https://tea.example/">龙井茶 tea</a></h2><div class="b_caption"><p class="b_lineclamp2">龙井茶产于杭州。</p></div></li></ol>`
	captcha  = `<title>tea - Search</title><div class="captcha"><div class="captcha_header">One last step</div></div>`
	grounded = `{"grounding":{"generic":[{"url":"https://tea.example/","title":"Tea","snippets":["About tea."]}],"map":[]},"sources":{}}`
	searched = `{"content":[{"type":"server_tool_use","name":"web_search","input":{"query":"tea"}},{"type":"web_search_tool_result","content":[{"type":"web_search_result","url":"https://tea.example/","title":"Tea"}]}],"stop_reason":"end_turn","usage":{"server_tool_use":{"web_search_requests":1}}}`
	pausing  = `{"content":[ {"type":"text","text":"<One moment> & so on","encrypted_content":"EqgfCi+/="} ],"stop_reason":"pause_turn","usage":{"server_tool_use":{"web_search_requests":1}}}`
)

// zeros is a small body that unpacks to 64 MiB.
func zeros(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	chunk := make([]byte, 1<<20)
	for range 64 {
		if _, err := z.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gbk(t *testing.T, text string) string {
	t.Helper()
	out, err := simplifiedchinese.GBK.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// silence never answers; drip sends a byte a second and never ends. Both read
// the question first: until then a server does not see its caller go.
func silence(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func drip(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for {
		if _, err := io.WriteString(w, " "); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done():
			return
		}
	}
}

// hangUp ends the connection without a word.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// inTurn gives each answer once, then the last one for ever.
func inTurn(answers ...http.HandlerFunc) http.HandlerFunc {
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		answers[min(n, len(answers)-1)](w, r)
		n++
	}
}

type fault struct {
	name   string
	engine string
	answer http.HandlerFunc
	want   outcome.Code
	retry  time.Duration
	// atDeadline says that the answer is only given up at the deadline.
	atDeadline bool
}

// second and month are what Brave says about its two windows.
func second(remaining, reset string) []string {
	return []string{
		"X-RateLimit-Limit", "1, 15000", "X-RateLimit-Policy", "1;w=1, 15000;w=2592000",
		"X-RateLimit-Remaining", remaining, "X-RateLimit-Reset", reset,
	}
}

func faults(t *testing.T) []fault {
	return []fault{
		{name: "200 with rows", engine: "bing", answer: says(200, bingRows), want: outcome.OK},
		{name: "200 with a challenge", engine: "bing", answer: says(200, captcha), want: outcome.Challenge},
		{name: "202 with a challenge", engine: "duckduckgo", answer: says(202, `<div class="anomaly-modal__title">Unfortunately</div>`), want: outcome.Challenge},
		{name: "202 with nothing", engine: "duckduckgo", answer: says(202, ""), want: outcome.Challenge},
		{name: "303 to another engine", engine: "duckduckgo", answer: says(303, "", "Location", "https://other.example/?q=tea"), want: outcome.LayoutUnrecognised},
		{name: "302 to a captcha", engine: "baidu", answer: says(302, "", "Location", "https://wappass.example/static/captcha/x"), want: outcome.Challenge},
		{name: "303 of an API with a key", engine: "brave_llm", answer: says(303, "", "Location", "https://elsewhere.example/"), want: outcome.Config},
		{name: "403 of a page", engine: "bing", answer: says(403, "no"), want: outcome.Challenge},
		{name: "403 of an API", engine: "brave_llm", answer: says(403, "{}"), want: outcome.AuthFailed},
		{name: "403 of an API behind a challenge", engine: "tavily", answer: says(403, `<title>Just a moment...</title><script src="/cdn-cgi/challenge-platform/x"></script>`), want: outcome.Challenge},
		{name: "403 of SearXNG", engine: "searxng", answer: says(403, "Forbidden"), want: outcome.Config},
		{name: "403 of Bocha is money", engine: "bocha", answer: says(403, `{"code":"403"}`), want: outcome.QuotaExhausted},
		{name: "422 of a page", engine: "bing", answer: says(422, ""), want: outcome.BadRequest},
		{name: "422 for a parameter", engine: "brave_web", answer: says(422, `{"error":{"code":"VALIDATION"}}`), want: outcome.BadRequest},
		{name: "422 for a key", engine: "brave_web", answer: says(422, `{"error":{"code":"SUBSCRIPTION_TOKEN_INVALID"}}`), want: outcome.AuthFailed},
		{name: "429 without a word", engine: "bing", answer: says(429, ""), want: outcome.RateLimited},
		{name: "429 with seconds", engine: "bing", answer: says(429, "", "Retry-After", "30"), want: outcome.RateLimited, retry: 30 * time.Second},
		{name: "429 with a date", engine: "tavily", answer: says(429, "{}", "Retry-After", "Sat, 01 Jan 2000 00:02:00 GMT"), want: outcome.RateLimited, retry: 2 * time.Minute},
		{name: "429 with nonsense", engine: "tavily", answer: says(429, "{}", "Retry-After", "soon"), want: outcome.RateLimited},
		{name: "429 for the second", engine: "brave_llm", answer: says(429, "{}", second("0, 14000", "1, 1419704")...), want: outcome.RateLimited, retry: time.Second},
		{name: "429 for the month", engine: "brave_llm", answer: says(429, "{}", second("1, 0", "1, 1419704")...), want: outcome.QuotaExhausted, retry: 1419704 * time.Second},
		{name: "429 for both", engine: "brave_llm", answer: says(429, "{}", second("0, 0", "1, 1419704")...), want: outcome.QuotaExhausted, retry: 1419704 * time.Second},
		{name: "429 by what Anthropic counts", engine: "anthropic", answer: says(429, "{}", "Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", "2000-01-01T00:00:40Z"), want: outcome.RateLimited, retry: 40 * time.Second},
		{name: "432 of Tavily", engine: "tavily", answer: says(432, "{}"), want: outcome.QuotaExhausted},
		{name: "500", engine: "bing", answer: says(500, "oops"), want: outcome.Upstream5xx},
		{name: "503 with a wait", engine: "zhipu", answer: says(503, "", "Retry-After", "9"), want: outcome.Upstream5xx, retry: 9 * time.Second},
		{name: "529 of Anthropic", engine: "anthropic", answer: says(529, `{"type":"error","error":{"type":"overloaded_error"}}`), want: outcome.Upstream5xx},
		{name: "an error object where the results should be", engine: "anthropic", answer: says(200, `{"content":[{"type":"server_tool_use","name":"web_search","input":{"query":"tea"}},{"type":"web_search_tool_result","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}],"stop_reason":"end_turn"}`), want: outcome.Upstream5xx},
		{name: "prose without a search", engine: "anthropic", answer: says(200, `{"content":[{"type":"text","text":"Tea is a drink."}],"stop_reason":"end_turn"}`), want: outcome.UnsupportedOption},
		{name: "a pause, then results", engine: "anthropic", answer: inTurn(says(200, pausing), says(200, searched)), want: outcome.OK},
		{name: "pauses without end", engine: "anthropic", answer: says(200, pausing), want: outcome.Timeout},
		{name: "a pause, then silence", engine: "anthropic", answer: inTurn(says(200, pausing), silence), want: outcome.Timeout, atDeadline: true},
		{name: "a pause, then too many requests", engine: "anthropic", answer: inTurn(says(200, pausing), says(429, "{}")), want: outcome.RateLimited},
		{name: "silence of a page", engine: "bing", answer: silence, want: outcome.Timeout, atDeadline: true},
		{name: "silence of an API", engine: "brave_llm", answer: silence, want: outcome.Timeout, atDeadline: true},
		{name: "a page byte by byte", engine: "bing", answer: drip, want: outcome.Timeout, atDeadline: true},
		{name: "JSON byte by byte", engine: "bocha", answer: drip, want: outcome.Timeout, atDeadline: true},
		{name: "a page that unpacks without end", engine: "bing", answer: says(200, zeros(t), "Content-Encoding", "gzip"), want: outcome.LayoutUnrecognised},
		{name: "JSON that unpacks without end", engine: "brave_llm", answer: says(200, zeros(t), "Content-Encoding", "gzip"), want: outcome.LayoutUnrecognised},
		{name: "no gzip", engine: "bing", answer: says(200, "plain", "Content-Encoding", "gzip"), want: outcome.Transport},
		{name: "half a body", engine: "tavily", answer: says(200, "half", "Content-Length", "1000"), want: outcome.Transport},
		{name: "a connection that ends", engine: "bing", answer: hangUp, want: outcome.Transport},
		{name: "GBK that is declared UTF-8", engine: "bing", answer: says(200, gbk(t, bingRows), "Content-Type", "text/html; charset=utf-8"), want: outcome.OK},
		{name: "GBK that is declared", engine: "bing", answer: says(200, gbk(t, bingRows), "Content-Type", "text/html; charset=gbk"), want: outcome.OK},
		{name: "JSON that is declared Latin", engine: "brave_llm", answer: says(200, grounded, "Content-Type", "application/json; charset=iso-8859-1"), want: outcome.OK},
		{name: "a page where JSON should be", engine: "brave_llm", answer: says(200, "<h1>Welcome</h1>"), want: outcome.LayoutUnrecognised},
		{name: "half of the JSON", engine: "brave_llm", answer: says(200, grounded[:len(grounded)/2]), want: outcome.LayoutUnrecognised},
	}
}

func TestEveryFaultHasItsOutcomeAndNoneOutlastsTheDeadline(t *testing.T) {
	for _, f := range faults(t) {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, end := serve(t, f.answer)
				defer end()
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				start := time.Now()
				got := Ask(ctx, client, engineAt(t, f.engine, "http://engine.test"), adapter.Query{Text: "tea"}, transport.ByOperator)
				took := time.Since(start)
				check(t, f, got)
				if took > deadline || f.atDeadline != (took == deadline) {
					t.Errorf("took %s of %s", took, deadline)
				}
			})
		})
	}
}

// Each round may be billed.
func TestAnEngineThatPausesIsAskedTwiceAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		client, end := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			says(200, pausing)(w, r)
		}))
		defer end()
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		got := Ask(ctx, client, engineAt(t, "anthropic", "http://engine.test"), adapter.Query{Text: "tea"}, transport.ByOperator)
		if asked != 2 || got.Outcome.Code != outcome.Timeout {
			t.Errorf("asked %d times: %s", asked, got.Outcome.Code)
		}
	})
}

// The same over real connections, as far as nothing has to be waited for.
func TestFaultsOverLoopback(t *testing.T) {
	for _, f := range faults(t) {
		if f.atDeadline || strings.Contains(f.name, "date") || strings.Contains(f.name, "Anthropic counts") {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			server := httptest.NewServer(f.answer)
			defer server.Close()
			client := overNetwork(t)
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			check(t, f, Ask(ctx, client, engineAt(t, f.engine, server.URL), adapter.Query{Text: "tea"}, transport.ByOperator))
		})
	}
}

func check(t *testing.T, f fault, got Result) {
	t.Helper()
	if got.Outcome.Code != f.want || got.Outcome.RetryAfter.Round(time.Second) != f.retry {
		t.Errorf("outcome %s (%s) after %s, want %s after %s", got.Outcome.Code, got.Outcome.Detail, got.Outcome.RetryAfter, f.want, f.retry)
	}
	if got.Outcome.Code.HasResults() != (len(got.Page.Results) > 0) {
		t.Errorf("%s with %d results", got.Outcome.Code, len(got.Page.Results))
	}
}

func TestEveryEngineGivesUpAtTheDeadlineAndStopsWhenNobodyWaits(t *testing.T) {
	for _, name := range catalog.Names() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, end := serve(t, http.HandlerFunc(silence))
				defer end()
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				start := time.Now()
				got := Ask(ctx, client, engineAt(t, name, "http://engine.test"), adapter.Query{Text: "tea"}, transport.ByOperator)
				if took := time.Since(start); got.Outcome.Code != outcome.Timeout || took != deadline {
					t.Errorf("%s after %s", got.Outcome.Code, took)
				}
				cancel()

				ctx, cancel = context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				start = time.Now()
				got = Ask(ctx, client, engineAt(t, name, "http://engine.test"), adapter.Query{Text: "tea"}, transport.ByOperator)
				if took := time.Since(start); got.Outcome.Code != outcome.Cancelled || took != time.Second {
					t.Errorf("%s after %s", got.Outcome.Code, took)
				}
			})
		})
	}
}

// Bodies that hold no list and no word about one.
var wordless = []string{"", " ", "{}", "[]", "null", "true", `"x"`, "0", "{", "<html></html>", `{"results":null}`, `{"results":{}}`, `{"data":null}`, `{"error":null}`, "\x00\xff"}

func TestNoEngineTakesAWordlessAnswerForAnEmptyOne(t *testing.T) {
	for _, name := range catalog.Names() {
		engine := engineAt(t, name, "http://engine.test")
		for _, status := range []int{200, 201, 202, 204, 206} {
			for _, body := range wordless {
				p, o := engine.Parse(adapter.Response{Status: status, Body: []byte(body)})
				if o.Code.Answered() || len(p.Results) > 0 {
					t.Errorf("%s: %q with status %d is %s", name, body, status, o.Code)
				}
			}
		}
	}
}

func TestAPausedTurnGoesOnWithWhatWasSaid(t *testing.T) {
	var bodies []string
	answers := inTurn(says(200, pausing), says(200, searched))
	client, end := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, string(b))
		if r.Header.Get("X-Api-Key") != "KEY" {
			t.Error("asked without the key")
		}
		answers(w, r)
	}))
	defer end()
	got := Ask(t.Context(), client, engineAt(t, "anthropic", "http://engine.test"), adapter.Query{Text: "tea"}, transport.ByOperator)
	if got.Outcome.Code != outcome.OK || got.Page.CostUSD != 0.02 || got.Page.SearchedQuery != "tea" {
		t.Errorf("%s for %g USD, searched %q", got.Outcome.Code, got.Page.CostUSD, got.Page.SearchedQuery)
	}
	if len(bodies) != 2 {
		t.Fatalf("asked %d times", len(bodies))
	}
	var second struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		ToolChoice *struct{} `json:"tool_choice"`
	}
	if err := json.Unmarshal([]byte(bodies[1]), &second); err != nil {
		t.Fatal(err)
	}
	const said = `[{"type":"text","text":"<One moment> & so on","encrypted_content":"EqgfCi+/="}]`
	if len(second.Messages) != 2 || second.Messages[1].Role != "assistant" || string(second.Messages[1].Content) != said || second.ToolChoice != nil {
		t.Errorf("went on with %s", bodies[1])
	}
}

func TestAnEngineWithoutItsSettingsIsAMatterOfConfiguration(t *testing.T) {
	for _, name := range catalog.Names() {
		engine, _ := catalog.New(name, catalog.Settings{})
		c := engine.Capabilities()
		if !c.NeedsKey && !c.NeedsAddress {
			continue
		}
		got := Ask(t.Context(), nil, engine, adapter.Query{Text: "tea"}, transport.ByOperator)
		if got.Outcome.Code != outcome.Config || !strings.Contains(got.Outcome.Detail, "search.") && !strings.Contains(got.Outcome.Detail, "BRAVE") {
			t.Errorf("%s: %s (%s)", name, got.Outcome.Code, got.Outcome.Detail)
		}
	}
}

func TestAKeyIsNeverRepeatedElsewhere(t *testing.T) {
	asked := 0
	client, end := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.Host != "engine.test" {
			t.Errorf("%s was asked", r.Host)
		}
		http.Redirect(w, r, "http://sub.engine.test/", http.StatusTemporaryRedirect)
	}))
	defer end()
	for _, name := range catalog.Names() {
		engine := engineAt(t, name, "http://engine.test")
		if !engine.Capabilities().NeedsKey {
			continue
		}
		asked = 0
		got := Ask(t.Context(), client, engine, adapter.Query{Text: "tea"}, transport.ByOperator)
		if got.Outcome.Code != outcome.Config || asked != 1 {
			t.Errorf("%s: %s (%s) after %d requests", name, got.Outcome.Code, got.Outcome.Detail, asked)
		}
	}
}
