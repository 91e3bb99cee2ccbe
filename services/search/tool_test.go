package search

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// asUser is the stream a handler sees when the user ann calls.
type asUser struct{ grpc.ServerStream }

func (s asUser) Context() context.Context {
	return auth.NewContext(s.ServerStream.Context(), auth.UserPrincipal("ann", "tools"))
}

// provider serves s over gRPC to ann.
func provider(t *testing.T, s *Service) toolv1.ToolProviderServiceClient {
	t.Helper()
	server := grpc.NewServer(grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		return h(srv, asUser{ss})
	}))
	s.RegisterTools(server)
	lis := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///search", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return toolv1.NewToolProviderServiceClient(conn)
}

func call(t *testing.T, c toolv1.ToolProviderServiceClient, args string) toolkit.Outcome {
	t.Helper()
	out, err := toolkit.Invoke(t.Context(), c, &toolv1.CallToolRequest{Name: ToolName, ArgumentsJson: args}, toolkit.InvokeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheToolTellsItsClassesAndLimits(t *testing.T) {
	s := start(t, func(c *Config) { c.Bing = engineAt(t, unasked(t)) })
	list, err := provider(t, s).ListTools(t.Context(), &toolv1.ListToolsRequest{})
	if err != nil || len(list.GetTools()) != 1 {
		t.Fatalf("%v (%v)", list, err)
	}
	tool := list.Tools[0]
	if tool.Name != "web_search" || tool.Effect != "pure" || tool.Sink != "read" || !tool.OutputUntrusted || tool.ResultKind != "web" || tool.Polling {
		t.Errorf("classes of %v", tool)
	}
	if d := tool.DefaultTimeout.AsDuration(); d != toolTimeout {
		t.Errorf("timeout %s", d)
	}
	schema := tool.Parameters.AsMap()
	properties := schema["properties"].(map[string]any)
	count := properties["max_results"].(map[string]any)
	if count["default"] != 5.0 || count["minimum"] != 1.0 || count["maximum"] != 10.0 {
		t.Errorf("max_results is %v", count)
	}
	if f := properties["freshness"].(map[string]any); !slices.Equal(f["enum"].([]any), []any{"day", "week", "month", "year"}) {
		t.Errorf("freshness is %v", f)
	}
	if page := properties["page"].(map[string]any); page["minimum"] != 1.0 || page["maximum"] != 50.0 {
		t.Errorf("page is %v", page)
	}
	if query := properties["query"].(map[string]any); query["minLength"] != 2.0 || query["maxLength"] != 400.0 {
		t.Errorf("query is %v", query)
	}
	if required := schema["required"].([]any); !slices.Equal(required, []any{"query"}) {
		t.Errorf("required are %v", required)
	}
}

func TestTheToolAnswersInItsShape(t *testing.T) {
	s := start(t, func(c *Config) {
		c.Bing = engineAt(t, says(200, bingPage("tea", "https://Tea.example/1", "https://tea.example/2", "https://leaf.example/")))
	})
	out := call(t, provider(t, s), `{"query":"tea","max_results":3}`)
	if out.IsError || !slices.Equal(out.Origins, []string{"web_search:tea.example", "web_search:leaf.example"}) {
		t.Errorf("error %t, origins %v", out.IsError, out.Origins)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out.ContentJSON), &got); err != nil {
		t.Fatal(err)
	}
	if got["success"] != true || got["outcome"] != "OK" || !strings.HasPrefix(got["markdown"].(string), "Results from bing") {
		t.Errorf("got %v", got)
	}
	first := got["results"].([]any)[0].(map[string]any)
	want := map[string]any{"untrusted": true, "title": "tea 1", "url": "https://Tea.example/1", "snippet": "About tea.", "source": "bing", "published_at": "2025-07-12T00:00:00Z"}
	if len(first) != len(want) {
		t.Errorf("a result has %v", first)
	}
	for k, v := range want {
		if first[k] != v {
			t.Errorf("%s is %v, want %v", k, first[k], v)
		}
	}
}

func TestAnEmptyAnswerIsNoErrorAndHasNoNull(t *testing.T) {
	s := start(t, func(c *Config) { c.Bing = engineAt(t, says(200, nothingPage)) })
	out := call(t, provider(t, s), `{"query":"tea"}`)
	if out.IsError || !strings.Contains(out.ContentJSON, `"results":[]`) || !strings.Contains(out.ContentJSON, `"outcome":"EMPTY_VERIFIED"`) {
		t.Errorf("error %t: %s", out.IsError, out.ContentJSON)
	}
}

func TestFailuresAreWordsForTheModel(t *testing.T) {
	cases := []struct {
		name      string
		status    int
		page      string
		args      string
		reason    outcome.Code
		retryable bool
		miss      bool // the tool did not fail, the engine did not answer
	}{
		{"blocked", 200, challengePage, `{"query":"tea"}`, outcome.Challenge, true, true},
		{"forbidden", 403, "no", `{"query":"tea"}`, outcome.Challenge, true, true},
		{"a new layout", 200, `<p>tea`, `{"query":"tea"}`, outcome.LayoutUnrecognised, true, true},
		{"rows of other queries", 200, bingPage("running shoes", "https://a.example/", "https://b.example/", "https://c.example/"), `{"query":"tea"}`, outcome.DecoySuspected, true, true},
		{"too many", 429, "", `{"query":"tea"}`, outcome.RateLimited, true, false},
		{"a refused key", 401, "", `{"query":"tea"}`, outcome.AuthFailed, false, false},
		{"a broken engine", 500, "", `{"query":"tea"}`, outcome.Upstream5xx, true, false},
		{"both domain lists", 200, "", `{"query":"tea","allowed_domains":["a.com"],"blocked_domains":["b.com"]}`, "INVALID_ARGUMENT", false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, func(cfg *Config) {
				cfg.Adapter = "bing"
				cfg.Bing = engineAt(t, says(c.status, c.page))
				if c.reason == outcome.AuthFailed {
					cfg.Adapter, cfg.Brave = "brave", KeyedConfig{cfg.Bing, "OLD-KEY"}
				}
			})
			out := call(t, provider(t, s), c.args)
			var got struct {
				Success  *bool
				Outcome  string
				Markdown string
				Results  []any
				Error    struct {
					Reason, Message string
					Retryable       bool
				}
			}
			if err := json.Unmarshal([]byte(out.ContentJSON), &got); err != nil {
				t.Fatal(err)
			}
			if out.IsError == c.miss || got.Success == nil || *got.Success || got.Error.Reason != string(c.reason) || got.Error.Retryable != c.retryable {
				t.Errorf("error %t: %s", out.IsError, out.ContentJSON)
			}
			if c.miss && (got.Outcome != string(c.reason) || got.Markdown != got.Error.Message || got.Results == nil) {
				t.Errorf("a miss is %s", out.ContentJSON)
			}
			if strings.Contains(got.Error.Message, outcome.EmptyVerified.Words()) {
				t.Errorf("reads like an empty answer: %s", got.Error.Message)
			}
			if c.reason != "INVALID_ARGUMENT" && !strings.Contains(got.Error.Message, "do not conclude") {
				t.Errorf("leaves room for a wrong conclusion: %s", got.Error.Message)
			}
		})
	}
}

func TestTheWaitForTheNextSearchIsASentenceOfItsOwn(t *testing.T) {
	s := start(t, func(c *Config) {
		c.Bing, c.CallsPerMinute = engineAt(t, says(200, bingPage("tea", "https://tea.example/"))), 1
	})
	c := provider(t, s)
	_ = call(t, c, `{"query":"tea"}`)
	if out := call(t, c, `{"query":"tea"}`); !out.IsError || !strings.Contains(out.ContentJSON, "the results you have. Wait about 60 seconds.") {
		t.Errorf("error %t: %s", out.IsError, out.ContentJSON)
	}
}

func TestACountOutOfRangeIsClampedWithANote(t *testing.T) {
	s := start(t, func(c *Config) { c.Bing = engineAt(t, says(200, bingPage("tea", "https://tea.example/"))) })
	out := call(t, provider(t, s), `{"query":"tea","max_results":50}`)
	if out.IsError || !strings.Contains(out.ContentJSON, "Note on the arguments: ") {
		t.Errorf("error %t: %s", out.IsError, out.ContentJSON)
	}
}

func TestTheToolTakesOptionsAndTellsWhatTheyCost(t *testing.T) {
	s, w, end := startInMemory(t, func(c *Config) { c.Policy = map[string][]string{"*": {"brave_web"}} })
	var mu sync.Mutex
	var asked string
	rows := braveAnswer("tea", []string{"https://tea.example/"})
	toldOf := make(chan string, 1)
	w.set("brave", func(to http.ResponseWriter, r *http.Request) {
		if told := <-toldOf; told != `asking brave_web for "tea"` {
			t.Errorf("told %q", told)
		}
		mu.Lock()
		asked = r.URL.Query().Encode()
		mu.Unlock()
		rows(to, r)
	})
	t.Cleanup(end)
	out, err := toolkit.Invoke(t.Context(), provider(t, s), &toolv1.CallToolRequest{
		Name: ToolName, ArgumentsJson: `{"query":"tea","freshness":"week","language":"en","region":"US","page":2}`,
	}, toolkit.InvokeOptions{OnProgress: func(p *toolv1.Progress) {
		select {
		case toldOf <- p.GetMessage():
		default:
		}
	}})
	if err != nil || out.IsError || out.CostUSD != 0.005 {
		t.Fatalf("%+v (%v)", out, err)
	}
	for _, param := range []string{"freshness=pw", "search_lang=en", "country=US", "offset=1"} {
		if !strings.Contains(asked, param) {
			t.Errorf("%s is not in %s", param, asked)
		}
	}
	out, err = toolkit.Invoke(t.Context(), provider(t, s), &toolv1.CallToolRequest{Name: ToolName, ArgumentsJson: `{"query":"tea","freshness":"week","language":"en","region":"US","page":2}`}, toolkit.InvokeOptions{})
	if err != nil || out.CostUSD != 0 {
		t.Errorf("an answer that is kept costs %g USD (%v)", out.CostUSD, err)
	}
}

func TestAFailureThatCostSomethingSaysSo(t *testing.T) {
	s, w, end := startInMemory(t, func(c *Config) { c.Policy = map[string][]string{"*": {"brave_web"}} })
	t.Cleanup(end)
	s.engines["brave_web"].Adapter = costly{s.engines["brave_web"].Adapter}
	w.set("brave", says(200, "{}"))
	if out := call(t, provider(t, s), `{"query":"tea"}`); out.CostUSD != 0.25 || !strings.Contains(out.ContentJSON, `"outcome":"LAYOUT_UNRECOGNISED"`) {
		t.Errorf("%g USD for %s", out.CostUSD, out.ContentJSON)
	}
}

// costly is an adapter whose engine charges for an answer that cannot be read.
type costly struct{ adapter.Adapter }

func (costly) Parse(adapter.Response) (adapter.Page, outcome.Outcome) {
	return adapter.Page{CostUSD: 0.25}, outcome.Of(outcome.LayoutUnrecognised)
}
