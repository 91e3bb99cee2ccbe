package apart

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/otlptest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// answering is a script in which the model searches, reads what it found and
// answers with it.
const answering = `
turns:
  - when: {user_contains: "look up"}
    replies:
      - steps:
          - reasoning: "The web will know."
          - text: "I will search for that."
          - call: {name: web_search, arguments: {query: "nanoclaws size"}}
      - steps:
          - call: {name: fetch_page, arguments: {url: "{{url web_search 0}}"}}
      - steps:
          - text: "The page says: {{result fetch_page content.text}}"
  - when: {user_contains: "recite"}
    replies:
      - steps:
          - call: {name: hands__recite, arguments: {name: "nanoclaw"}}
      - steps:
          - text: "It was long."
  - when: {user_contains: "only search"}
    replies:
      - steps:
          - call: {name: web_search, arguments: {query: "nanoclaws size"}}
      - steps:
          - text: "It said: {{result web_search}}"
`

// turnTree is what one question looks like in Jaeger when every service is a
// process.
const turnTree = `
	nanoclaw-gateway | POST /api/conversations/{conversation_id}/messages
	  nanoclaw-gateway | nanoclaw.orchestrator.v1.ConversationService/StreamMessage
	    nanoclaw-orchestrator | nanoclaw.orchestrator.v1.ConversationService/StreamMessage
	      nanoclaw-orchestrator | invoke_agent nanoclaw
	        nanoclaw-orchestrator | chat scripted
	        nanoclaw-orchestrator | execute_tool web_search
	          nanoclaw-orchestrator | nanoclaw.tool.v1.ToolProviderService/CallTool
	            nanoclaw-search | nanoclaw.tool.v1.ToolProviderService/CallTool
	              nanoclaw-search | search.attempt
	        nanoclaw-orchestrator | chat scripted
	        nanoclaw-orchestrator | execute_tool fetch_page
	          nanoclaw-orchestrator | nanoclaw.tool.v1.ToolProviderService/CallTool
	            nanoclaw-fetcher | nanoclaw.tool.v1.ToolProviderService/CallTool
	              nanoclaw-fetcher | fetch
	        nanoclaw-orchestrator | chat scripted
`

func TestTheStoryWithEveryServiceInItsOwnProcess(t *testing.T) {
	t.Parallel()
	collector := otlptest.Start(t)
	w := world.New(t, answering)
	w.Config.Telemetry.Exporter, w.Config.Telemetry.OTLPEndpoint = telemetry.ExporterOTLP, collector.Endpoint()
	d := deploy(t, w)
	d.startAll()
	c := d.client()
	var traceID string
	t.Run("over SSE through the gateway", func(t *testing.T) {
		run := c.Ask(t, c.Conversation(t), "Please look up nanoclaws")
		traceID = checkStory(t, c, run)
	})
	t.Run("over gRPC from the orchestrator", func(t *testing.T) { d.askOverGRPC(t) })
	t.Run("the typed services on their own ports", func(t *testing.T) { d.callTyped(t) })
	d.stop()
	t.Run("one trace over all processes", func(t *testing.T) { collector.RequireTree(t, traceID, turnTree) })
}

// checkStory checks an answer and returns the id of its trace.
func checkStory(t *testing.T, c *world.Client, run *world.Transcript) (traceID string) {
	t.Helper()
	if run.Done["finish_reason"] != "stop" || !strings.Contains(run.Text(3), world.Article) || run.Thinking(1) != "The web will know." {
		t.Fatalf("answered %+v, %v %v", run.Rounds(), run.Done, run.Error)
	}
	for i, r := range run.Results {
		if r["is_error"] == true {
			t.Errorf("call %d failed: %v", i, r)
		}
	}
	stored := c.Data(t, "GET", "/api/runs/"+run.RunID, nil)
	if stored["status"] != "completed" {
		t.Errorf("the run is stored as %v", stored)
	}
	traceID, _ = stored["trace_id"].(string)
	return traceID
}

// askOverGRPC has the story as another backend has it, with a token of its own.
func (d *deployment) askOverGRPC(t *testing.T) {
	ctx := deadline(t)
	conn := d.conn("orchestrator", d.token("orchestrator"))
	conversations := pb.NewConversationServiceClient(conn)
	made, err := conversations.CreateConversation(ctx, &pb.CreateConversationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := conversations.StreamMessage(ctx, &pb.StreamMessageRequest{ConversationId: made.Conversation.Id, Content: "Please look up nanoclaws"})
	if err != nil {
		t.Fatal(err)
	}
	answer, tools, finish := map[int32]string{}, []string{}, ""
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if m := e.GetMessage(); m != nil {
			answer[m.Round] = answer[m.Round][:m.Offset] + m.Content
		}
		for _, r := range e.GetToolResult().GetResults() {
			tools = append(tools, r.Name)
		}
		if done := e.GetDone(); done != nil {
			finish = done.FinishReason
		}
	}
	if finish != "stop" || !strings.Contains(answer[3], world.Article) || !slices.Equal(tools, []string{"web_search", "fetch_page"}) {
		t.Errorf("ended with %q, tools %v: %q", finish, tools, answer[3])
	}
	_, err = pb.NewConversationServiceClient(d.conn("orchestrator", "")).CreateConversation(ctx, &pb.CreateConversationRequest{})
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("without a token: %v", err)
	}
}

// callTyped calls search and fetcher where they are: they ask the orchestrator
// whom a token stands for.
func (d *deployment) callTyped(t *testing.T) {
	ctx, c := deadline(t), d.client()
	made := c.Data(t, "POST", "/api/tokens", map[string]any{"name": "searcher", "scopes": []string{"search"}})
	token, _ := made["token"].(string)
	search := searchv1.NewSearchServiceClient(d.conn("search", token))
	found, err := search.Search(ctx, &searchv1.SearchRequest{Query: "nanoclaws"})
	if err != nil || len(found.Results) != 3 {
		t.Errorf("search: %v %v", found, err)
	}
	_, err = fetcherv1.NewFetcherServiceClient(d.conn("fetcher", token)).Fetch(ctx, &fetcherv1.FetchRequest{Url: d.w.Site.URL + "/article"})
	if status.Code(err) != codes.PermissionDenied || rpcerr.Reason(err) != "SCOPE_MISSING" {
		t.Errorf("fetch with a token for searching: %v", err)
	}
	fetched, err := fetcherv1.NewFetcherServiceClient(d.conn("fetcher", d.token("orchestrator"))).Fetch(ctx, &fetcherv1.FetchRequest{Url: d.w.Site.URL + "/article"})
	if err != nil || !strings.Contains(fetched.String(), world.Article) {
		t.Errorf("fetch: %v %v", fetched, err)
	}
	_, err = searchv1.NewSearchServiceClient(d.conn("search", "nc_nobody")).Search(ctx, &searchv1.SearchRequest{Query: "nanoclaws"})
	if status.Code(err) != codes.Unauthenticated || rpcerr.Reason(err) != auth.ReasonUnauthenticated {
		t.Errorf("with a token of nobody: %v", err)
	}
	for path, body := range map[string]map[string]any{"/api/search": {"query": "nanoclaws"}, "/api/fetch": {"url": d.w.Site.URL + "/article"}} {
		if status, answer := c.JSON(t, "POST", path, body); status != 200 {
			t.Errorf("%s through the gateway: %d %v", path, status, answer)
		}
	}
}

func TestARevokedTokenIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	d := deploy(t, world.New(t, answering))
	d.start("search", "orchestrator", "fetcher", "gateway")
	c := d.client()
	search := func(token string) error {
		_, err := searchv1.NewSearchServiceClient(d.conn("search", token)).Search(deadline(t), &searchv1.SearchRequest{Query: "nanoclaws"})
		return err
	}
	make := func(name string) (id, token string) {
		made := c.Data(t, "POST", "/api/tokens", map[string]any{"name": name, "scopes": []string{"search"}})
		return made["id"].(string), made["token"].(string)
	}
	known, knownToken := make("known")
	if err := search(knownToken); err != nil {
		t.Fatal(err)
	}
	fresh, freshToken := make("fresh")
	for _, id := range []string{known, fresh} {
		if status, answer := c.JSON(t, "DELETE", "/api/tokens/"+id, nil); status != 200 {
			t.Fatalf("revoke: %d %v", status, answer)
		}
	}
	if err := search(freshToken); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a token that search did not know: %v", err)
	}
	if !sampletest.Full() {
		return // search may remember the other for a minute
	}
	revoked := time.Now()
	for search(knownToken) == nil {
		if time.Since(revoked) > 61*time.Second {
			t.Fatal("a revoked token is good for longer than a minute")
		}
		time.Sleep(time.Second)
	}
	t.Logf("refused %s after it was revoked", time.Since(revoked).Round(time.Second))
}
