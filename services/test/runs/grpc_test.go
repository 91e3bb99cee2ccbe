package runs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// backend is another backend that uses the suite over gRPC.
type backend struct {
	conversations pb.ConversationServiceClient
	runs          pb.RunServiceClient
	identity      pb.IdentityServiceClient
	token         string
}

func dialBackend(t testing.TB, addr, token string) *backend {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &backend{pb.NewConversationServiceClient(conn), pb.NewRunServiceClient(conn), pb.NewIdentityServiceClient(conn), token}
}

func (b *backend) as(ctx context.Context) context.Context {
	if b.token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+b.token)
}

func (b *backend) conversation(t testing.TB) string {
	t.Helper()
	res, err := b.conversations.CreateConversation(b.as(t.Context()), &pb.CreateConversationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return res.Conversation.Id
}

// receive reads a stream to its end.
func receive(stream grpc.ServerStreamingClient[pb.RunEvent], got func(*pb.RunEvent) (more bool)) error {
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || !got(e) {
			return err
		}
	}
}

const storyScript = `
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
  - when: {user_contains: "wait for me"}
    replies:
      - steps: [{text: "I wait."}, {silence: true}]
`

func TestTheStoryOverGRPC(t *testing.T) {
	t.Parallel()
	w := world.New(t, storyScript)
	s := w.Start(t)
	b := dialBackend(t, s.GRPCAddr(), world.ClientOf(s).Token)
	id := b.conversation(t)
	stream, err := b.conversations.StreamMessage(b.as(t.Context()), &pb.StreamMessageRequest{ConversationId: id, Content: "Please look up nanoclaws"})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	var answer, runID string
	var calls, results []string
	var done *pb.Done
	err = receive(stream, func(e *pb.RunEvent) bool {
		if kind := kindOf(e); kind != "ping" && (len(kinds) == 0 || kinds[len(kinds)-1] != kind) {
			kinds = append(kinds, kind)
		}
		switch v := e.Event.(type) {
		case *pb.RunEvent_RunStarted:
			runID = v.RunStarted.RunId
		case *pb.RunEvent_Message:
			if v.Message.Round == 3 {
				answer = answer[:v.Message.Offset] + v.Message.Content
			}
		case *pb.RunEvent_ToolCall:
			for _, c := range v.ToolCall.Calls {
				calls = append(calls, c.Function.Name)
			}
		case *pb.RunEvent_ToolResult:
			for _, r := range v.ToolResult.Results {
				results = append(results, r.Name)
			}
		case *pb.RunEvent_Done:
			done = v.Done
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if done.GetFinishReason() != "stop" || !strings.Contains(answer, world.Article) {
		t.Errorf("done %v, answer %q", done, answer)
	}
	if want := []string{"web_search", "fetch_page"}; !slices.Equal(calls, want) || !slices.Equal(results, want) {
		t.Errorf("calls %v, results %v", calls, results)
	}
	for _, want := range []string{"run_started", "thinking", "message", "tool_call", "tool_result", "usage", "done"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("no event %s in %v", want, kinds)
		}
	}

	// The run as it stands, and its log after any event.
	got, err := b.runs.GetRun(b.as(t.Context()), &pb.GetRunRequest{RunId: runID})
	if err != nil {
		t.Fatal(err)
	}
	if got.Run.Status != "completed" || got.Run.MessageId != done.MessageId || len(got.Run.ToolCalls) != 2 {
		t.Errorf("the run is %v", got.Run)
	}
	for after := range got.Run.LastSeq {
		watch, err := b.runs.WatchRun(b.as(t.Context()), &pb.WatchRunRequest{RunId: runID, AfterSeq: after})
		if err != nil {
			t.Fatal(err)
		}
		next := after
		err = receive(watch, func(e *pb.RunEvent) bool {
			if next++; e.Seq != next {
				t.Errorf("after %d: event %d where %d should be", after, e.Seq, next)
			}
			return true
		})
		if err != nil || next != got.Run.LastSeq {
			t.Errorf("after %d: the log ends at %d of %d: %v", after, next, got.Run.LastSeq, err)
		}
	}
}

func TestARunIsWatchedAndCancelledOverGRPC(t *testing.T) {
	t.Parallel()
	w := world.New(t, storyScript)
	s := w.Start(t)
	b := dialBackend(t, s.GRPCAddr(), world.ClientOf(s).Token)
	id := b.conversation(t)
	ctx, hangUp := context.WithCancel(b.as(t.Context()))
	stream, err := b.conversations.StreamMessage(ctx, &pb.StreamMessageRequest{ConversationId: id, Content: "wait for me"})
	if err != nil {
		t.Fatal(err)
	}
	runID := ""
	_ = receive(stream, func(e *pb.RunEvent) bool {
		runID = cmp.Or(e.GetRunStarted().GetRunId(), runID)
		return e.GetMessage() == nil
	})
	hangUp() // the run does not need whoever asked
	watch, err := b.runs.WatchRun(b.as(t.Context()), &pb.WatchRunRequest{RunId: runID, AfterSeq: 1})
	if err != nil {
		t.Fatal(err)
	}
	var done *pb.Done
	text := ""
	err = receive(watch, func(e *pb.RunEvent) bool {
		switch v := e.Event.(type) {
		case *pb.RunEvent_Message:
			text = text[:v.Message.Offset] + v.Message.Content
			if text == "I wait." && done == nil && e.Seq == 0 {
				if _, err := b.runs.CancelRun(b.as(t.Context()), &pb.CancelRunRequest{RunId: runID}); err != nil {
					t.Errorf("cancel: %v", err)
				}
			}
		case *pb.RunEvent_Done:
			done = v.Done
		}
		return true
	})
	if err != nil || done.GetFinishReason() != "cancelled" || text != "I wait." {
		t.Errorf("done %v, text %q, %v", done, text, err)
	}
	again, err := b.runs.CancelRun(b.as(t.Context()), &pb.CancelRunRequest{RunId: runID})
	if err != nil || again.Run.Status != "cancelled" {
		t.Errorf("cancelled twice: %v, %v", again, err)
	}
	if n := len(world.ClientOf(s).Messages(t, id)); n != 2 {
		t.Errorf("%d messages are stored, not the question and what there is of the answer", n)
	}
}

func TestGRPCIsRefusedWithoutAToken(t *testing.T) {
	t.Parallel()
	w := world.New(t, storyScript)
	s := w.Start(t)
	owner := dialBackend(t, s.GRPCAddr(), world.ClientOf(s).Token)
	made, err := owner.identity.CreateToken(owner.as(t.Context()), &pb.CreateTokenRequest{Name: "backend", Scopes: []string{"usage"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, token string
		code        codes.Code
		reason      string
	}{
		{"no token", "", codes.Unauthenticated, "UNAUTHENTICATED"},
		{"a token of nobody", "nc_nobody", codes.Unauthenticated, "UNAUTHENTICATED"},
		{"a token without the scope", made.Token, codes.PermissionDenied, "SCOPE_MISSING"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := dialBackend(t, s.GRPCAddr(), tc.token)
			_, err := b.runs.GetRun(b.as(t.Context()), &pb.GetRunRequest{RunId: "run_x"})
			if status.Code(err) != tc.code || rpcerr.Reason(err) != tc.reason {
				t.Errorf("GetRun: %v, reason %s", err, rpcerr.Reason(err))
			}
			stream, err := b.conversations.StreamMessage(b.as(t.Context()), &pb.StreamMessageRequest{ConversationId: "conv_x", Content: "look up"})
			if err == nil {
				_, err = stream.Recv()
			}
			if status.Code(err) != tc.code || rpcerr.Reason(err) != tc.reason {
				t.Errorf("StreamMessage: %v, reason %s", err, rpcerr.Reason(err))
			}
		})
	}
}

// revokedWithin is how long a deleted token may still work.
const revokedWithin = time.Minute

func TestARevokedTokenIsRefused(t *testing.T) {
	t.Parallel()
	w := world.New(t, storyScript)
	s := w.Start(t)
	c := world.ClientOf(s)
	token := func(name string) (id string, b *backend, rest world.Client) {
		made := c.Data(t, "POST", "/api/tokens", map[string]any{"name": name, "scopes": []string{"chat"}})
		b = dialBackend(t, s.GRPCAddr(), made["token"].(string))
		rest = *c
		rest.Token = b.token
		return made["id"].(string), b, rest
	}
	refused := func(b *backend, rest world.Client) bool {
		_, err := b.conversations.ListConversations(b.as(t.Context()), &pb.ListConversationsRequest{})
		httpStatus, _ := rest.JSON(t, "GET", "/api/conversations", nil)
		return status.Code(err) == codes.Unauthenticated && httpStatus == 401
	}
	id, b, rest := token("never used")
	c.Data(t, "DELETE", "/api/tokens/"+id, nil)
	if !refused(b, rest) {
		t.Error("a token that was revoked before its first use is taken")
	}
	id, b, rest = token("in use")
	if refused(b, rest) {
		t.Error("a good token is refused")
	}
	c.Data(t, "DELETE", "/api/tokens/"+id, nil)
	if !sampletest.Full() {
		return // the minute of the cache is tested where the cache is
	}
	eventually(t, revokedWithin+5*time.Second, "the revoked token is refused", func() bool { return refused(b, rest) })
}

func kindOf(e *pb.RunEvent) string {
	m := e.ProtoReflect()
	return string(m.WhichOneof(m.Descriptor().Oneofs().ByName("event")).Name())
}
