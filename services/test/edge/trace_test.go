package edge

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/otlptest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// turnTree is what one question looks like in Jaeger.
const turnTree = `
	nanoclaw | POST /api/conversations/{conversation_id}/messages
	  nanoclaw | nanoclaw.orchestrator.v1.ConversationService/StreamMessage
	    nanoclaw | nanoclaw.orchestrator.v1.ConversationService/StreamMessage
	      nanoclaw | invoke_agent nanoclaw
	        nanoclaw | chat scripted
	        nanoclaw | execute_tool web_search
	          nanoclaw | nanoclaw.tool.v1.ToolProviderService/CallTool
	            nanoclaw | nanoclaw.tool.v1.ToolProviderService/CallTool
	              nanoclaw | search.attempt
	        nanoclaw | chat scripted
	        nanoclaw | execute_tool fetch_page
	          nanoclaw | nanoclaw.tool.v1.ToolProviderService/CallTool
	            nanoclaw | nanoclaw.tool.v1.ToolProviderService/CallTool
	              nanoclaw | fetch
	        nanoclaw | chat scripted
`

// spanKeeper keeps every span whole: what OTLP carries and a collector shows.
type spanKeeper struct{ *tracetest.InMemoryExporter }

// Shutdown keeps the spans, which are looked at after the suite has stopped.
func (spanKeeper) Shutdown(context.Context) error { return nil }

var _ sdktrace.SpanExporter = spanKeeper{}

// text is everything that the spans say: names, attributes, events, statuses.
func (k spanKeeper) text(t testing.TB) string {
	t.Helper()
	spans := k.GetSpans()
	if len(spans) == 0 {
		t.Fatal("no spans were kept")
	}
	var all strings.Builder
	for _, s := range spans {
		raw, err := json.Marshal(map[string]any{"name": s.Name, "attributes": s.Attributes, "events": s.Events, "status": s.Status, "links": s.Links})
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
		all.WriteByte('\n')
	}
	return all.String()
}

// keepSpans makes a suite show its spans to a keeper.
func keepSpans(o *suite.Options) spanKeeper {
	keeper := spanKeeper{tracetest.NewInMemoryExporter()}
	o.Telemetry = func(c *telemetry.Config) { c.SpanExporter = keeper }
	return keeper
}

// ended is an answer over SSE, read to its end.
type ended struct {
	traceID string // of the header
	events  []world.Event
}

func askOverSSE(t *testing.T, c *world.Client, conversation, content string) ended {
	t.Helper()
	res, err := c.Do(deadline(t), "POST", "/api/conversations/"+conversation+"/messages", map[string]any{"content": content})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("answer = %d", res.StatusCode)
	}
	e := ended{traceID: res.Header.Get("X-Trace-Id")}
	world.Events(res.Body, func(one world.Event) bool { e.events = append(e.events, one); return true })
	return e
}

func (e ended) last(name string) map[string]any {
	for i := len(e.events) - 1; i >= 0; i-- {
		if e.events[i].Name == name {
			return e.events[i].Data
		}
	}
	return nil
}

// stop stops a suite before its test ends, so that all its spans are out.
func stop(t *testing.T, s *suite.Suite) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Fatalf("stop: %v", err)
	}
}

func TestATurnIsOneTraceFromTheGatewayToTheLastTool(t *testing.T) {
	collector := otlptest.Start(t)
	w := world.New(t, answering)
	w.Config.Telemetry.Exporter, w.Config.Telemetry.OTLPEndpoint = telemetry.ExporterOTLP, collector.Endpoint()
	var keeper spanKeeper
	s := w.Start(t, func(o *suite.Options) { keeper = keepSpans(o) })
	c := world.ClientOf(s)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	conversation := c.Conversation(t)
	got := askOverSSE(t, c, conversation, "Please look up the colour of Zanzibarian umbrellas")
	done := got.last("done")
	if done["finish_reason"] != "stop" {
		t.Fatalf("the turn ended with %v", got.events[len(got.events)-1])
	}
	run := c.Data(t, "GET", "/api/runs/"+done["run_id"].(string), nil)
	stop(t, s)

	t.Run("the tree", func(t *testing.T) {
		tree := regexp.MustCompile(`chat scripted\S*`).ReplaceAllString(turnTree, "chat "+world.ModelID)
		collector.RequireTree(t, got.traceID, tree)
	})
	t.Run("the trace id is on everything that people see", func(t *testing.T) {
		results := 0
		for _, e := range got.events {
			switch e.Name {
			case "run_started":
				if e.Data["trace_id"] != got.traceID {
					t.Errorf("run_started names trace %v, the header %s", e.Data["trace_id"], got.traceID)
				}
			case "tool_result":
				for _, r := range e.Data["results"].([]any) {
					results++
					if id := r.(map[string]any)["trace_id"]; id != got.traceID {
						t.Errorf("a tool_result names trace %v, the header %s", id, got.traceID)
					}
				}
			}
		}
		if results != 2 {
			t.Errorf("%d results of tools", results)
		}
		if run["trace_id"] != got.traceID {
			t.Errorf("the run names trace %v, the header %s", run["trace_id"], got.traceID)
		}
		for _, call := range run["tool_calls"].([]any) {
			if id := call.(map[string]any)["trace_id"]; id != got.traceID {
				t.Errorf("a call of the run names trace %v, the header %s", id, got.traceID)
			}
		}
	})
	t.Run("nothing of the turn is in a trace of its own", func(t *testing.T) {
		for _, s := range collector.Spans() {
			// Providers are asked for their tools at the start, for nobody's turn.
			if s.ParentID == "" && s.Kind != "server" && !strings.HasSuffix(s.Name, "/ListTools") {
				t.Errorf("%s is a root: %+v", s.Name, s)
			}
			if s.TraceID != got.traceID && regexp.MustCompile(`^(chat|execute_tool|invoke_agent|search\.attempt|fetch)\b`).MatchString(s.Name) {
				t.Errorf("%s is in another trace: %+v", s.Name, s)
			}
		}
	})
	t.Run("kinds and attributes", func(t *testing.T) {
		checkTurnSpans(t, collector.Spans(), got.traceID, conversation, run["id"].(string))
	})
	t.Run("what was said is not in it", func(t *testing.T) {
		text := keeper.text(t) + collector.Tree(got.traceID)
		for _, word := range []string{
			"Zanzibarian", "umbrellas", // the user
			"nanoclaws size", "On nanoclaws", "smallest claws", // query, title, page
			"The web will know", "The page says", // the model
			"a-key-for-tests", c.Token,
		} {
			if strings.Contains(text, word) {
				t.Errorf("a span holds %q", word)
			}
		}
	})
}

// checkTurnSpans checks the spans of a turn one by one.
func checkTurnSpans(t *testing.T, spans []otlptest.Span, traceID, conversation, run string) {
	byID := map[string]otlptest.Span{}
	for _, s := range spans {
		byID[s.SpanID] = s
	}
	for _, s := range spans {
		if s.TraceID != traceID {
			continue
		}
		if s.Error {
			t.Errorf("%s failed: %+v", s.Name, s)
		}
		kind, want := "internal", map[string]string{}
		switch {
		case strings.HasPrefix(s.Name, "POST "):
			kind, want = "server", map[string]string{
				"http.route": "/api/conversations/{conversation_id}/messages", "http.response.status_code": "200", "http.request.method": "POST",
			}
		case strings.HasPrefix(s.Name, "nanoclaw."):
			kind = "client"
			if byID[s.ParentID].Name == s.Name {
				kind, want = "server", map[string]string{"user.id": s.Attributes["user.id"]}
				if s.Attributes["user.id"] == "" {
					t.Errorf("%s does not say for whom", s.Name)
				}
			}
		case strings.HasPrefix(s.Name, "chat "):
			kind, want = "client", map[string]string{
				"gen_ai.operation.name": "chat", "gen_ai.request.model": world.ModelID, "gen_ai.conversation.id": conversation,
				"gen_ai.provider.name": "127.0.0.1", "gen_ai.response.model": "scripted-edge",
			}
			for _, key := range []string{"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.response.finish_reasons"} {
				if s.Attributes[key] == "" {
					t.Errorf("%s has no %s", s.Name, key)
				}
			}
		case strings.HasPrefix(s.Name, "invoke_agent "):
			want = map[string]string{
				"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "nanoclaw", "gen_ai.conversation.id": conversation,
				"agent.episode_id": run, "nanoclaw.run.id": run,
			}
		case strings.HasPrefix(s.Name, "execute_tool "):
			name := strings.TrimPrefix(s.Name, "execute_tool ")
			want = map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function", "nanoclaw.tool.attempt": "1"}
			if s.Attributes["gen_ai.tool.call.id"] == "" {
				t.Errorf("%s has no id of its call", s.Name)
			}
		case s.Name == "search.attempt":
			kind, want = "client", map[string]string{"search.provider": "bing", "search.outcome": "OK", "search.count": "3"}
		case s.Name == "fetch":
			kind, want = "client", map[string]string{"server.address": "127.0.0.1", "http.response.status_code": "200"}
		default:
			t.Errorf("a span that this test does not know: %+v", s)
		}
		if s.Kind != kind {
			t.Errorf("%s is of kind %s, want %s", s.Name, s.Kind, kind)
		}
		for key, value := range want {
			if s.Attributes[key] != value {
				t.Errorf("%s: %s = %q, want %q", s.Name, key, s.Attributes[key], value)
			}
		}
		if s.Attributes["error.type"] != "" {
			t.Errorf("%s went well and has error.type %s", s.Name, s.Attributes["error.type"])
		}
	}
}

// failing is a script in which a page is not there, then the model endpoint
// refuses.
const failing = `
model: scripted-edge
turns:
  - when: {user_contains: "private"}
    replies:
      - steps:
          - call: {name: fetch_page, arguments: {url: "http://10.0.0.1/secret-path"}}
      - http: {status: 400, body: {error: {message: "no such parameter", type: invalid_request_error}}}
`

func TestFailuresAreMarkedInTheTrace(t *testing.T) {
	collector := otlptest.Start(t)
	w := world.New(t, failing)
	w.Config.Telemetry.Exporter, w.Config.Telemetry.OTLPEndpoint = telemetry.ExporterOTLP, collector.Endpoint()
	s := w.Start(t)
	c := world.ClientOf(s)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	got := askOverSSE(t, c, c.Conversation(t), "read the private page")
	failed := got.last("error")
	if failed == nil || failed["trace_id"] != got.traceID {
		t.Fatalf("the run ended with %v in trace %s", failed, got.traceID)
	}
	stop(t, s)
	types := map[string]string{}
	for _, s := range collector.Spans() {
		if s.TraceID != got.traceID {
			continue
		}
		if s.Error != (s.Attributes["error.type"] != "") && !strings.HasPrefix(s.Name, "nanoclaw.") {
			t.Errorf("%s: error %t, error.type %q", s.Name, s.Error, s.Attributes["error.type"])
		}
		if s.Error {
			types[s.Name] = s.Attributes["error.type"]
		}
	}
	for name, want := range map[string]string{
		"invoke_agent nanoclaw":   "MODEL_REFUSED_REQUEST",
		"chat " + world.ModelID:   "bad_request",
		"execute_tool fetch_page": "tool_error",
		"fetch":                   "refused_ssrf",
	} {
		if types[name] != want {
			t.Errorf("%s has error.type %q, want %q (all: %v)", name, types[name], want, types)
		}
	}
}
