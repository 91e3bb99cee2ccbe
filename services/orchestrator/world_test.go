package orchestrator

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/modelserver"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/tooltest"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is the service in this process, behind servers with the whole
// interceptor chain, with a scripted model and a provider of the tools count
// (reads), long (reads, 100,000 characters) and write (asks).
type world struct {
	t     *testing.T
	svc   *Service
	model *modelserver.Running
	dir   string
	calls atomic.Int32 // of the tool write
	now   atomic.Int64 // what the clock is ahead, in milliseconds

	Conversations pb.ConversationServiceClient
	Runs          pb.RunServiceClient
	Tools         pb.ToolServiceClient
	Identity      pb.IdentityServiceClient
	Account       pb.AccountServiceClient
}

// bed is what a service is started with.
type bed struct {
	cfg  Config
	deps Deps
	// tools serves the orchestrator's own tools.
	tools *rpc.Server
}

// a script's model is "m"; without a script there is none.
func newWorld(t *testing.T, script string, change ...func(*bed)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	b := &bed{cfg: DefaultConfig()}
	if script != "" {
		parsed, err := modelserver.Parse([]byte(script))
		if err != nil {
			t.Fatal(err)
		}
		if w.model, err = modelserver.Listen("127.0.0.1:0", parsed); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.model.Close() })
		b.cfg.Models = []ModelConfig{{ID: "m", Name: "Em", APIURL: w.model.URL}}
	}
	bucket, err := blob.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if b.tools, err = rpc.NewServer(rpc.ServerConfig{}); err != nil {
		t.Fatal(err)
	}
	own, err := b.tools.DialInProcess(rpc.DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	b.deps = Deps{
		DataDir: w.dir, Blobs: bucket, Log: slog.New(slog.DiscardHandler),
		Now:       func() time.Time { return time.Now().Add(time.Duration(w.now.Load()) * time.Millisecond) },
		Providers: []Provider{{Name: "tests", Conn: tooltest.Conn(t, w.provider())}, {Name: "orchestrator", Conn: own}},
	}
	for _, f := range change {
		f(b)
	}
	if w.svc, err = New(t.Context(), b.cfg, b.deps); err != nil {
		t.Fatal(err)
	}
	main, err := rpc.NewServer(rpc.ServerConfig{Tokens: w.svc.Tokens(), MethodTimeouts: map[string]time.Duration{
		pb.ConversationService_SendMessage_FullMethodName: 0, pb.ConversationService_Chat_FullMethodName: 0,
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.svc.Register(main)
	w.svc.RegisterTools(b.tools)
	conn, err := main.DialInProcess(rpc.DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 3)
	go func() { served <- b.tools.ServeInProcess() }()
	go func() { served <- main.ServeInProcess() }()
	if err := errors.Join(b.tools.SetReady(), main.SetReady(), w.svc.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	runs, stop := context.WithCancel(context.Background())
	go func() { served <- w.svc.Run(runs) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		w.svc.Drain()
		failed := main.Drain(ctx)
		stop()
		w.svc.Wait(ctx)
		failed = errors.Join(failed, b.tools.Drain(ctx), <-served, <-served, <-served)
		if err := errors.Join(failed, conn.Close(), own.Close(), w.svc.Close(), bucket.Close()); err != nil {
			t.Error(err)
		}
	})
	w.Conversations, w.Runs, w.Tools = pb.NewConversationServiceClient(conn), pb.NewRunServiceClient(conn), pb.NewToolServiceClient(conn)
	w.Identity, w.Account = pb.NewIdentityServiceClient(conn), pb.NewAccountServiceClient(conn)
	return w
}

func (w *world) provider() *toolkit.Provider {
	p := tooltest.Provider(w.t)
	tooltest.Add(w.t, p, tooltest.Tool("count"), tooltest.Echo)
	tooltest.Add(w.t, p, tooltest.Tool("long"), func(context.Context, *toolkit.Call, tooltest.Input) (toolkit.Result, error) {
		r := toolkit.JSON(map[string]any{"success": true, "markdown": strings.Repeat("纳米爪 ", 25_000)})
		r.Origins = []string{"long:a.org"}
		return r, nil
	})
	write := tooltest.Tool("write")
	write.Effect, write.Sink = toolkit.EffectKeyed, toolkit.SinkWrite
	tooltest.Add(w.t, p, write, func(ctx context.Context, call *toolkit.Call, in tooltest.Input) (toolkit.Result, error) {
		w.calls.Add(1)
		return tooltest.Echo(ctx, call, in)
	})
	return p
}

// as is the context of a user with every scope, with headers "name", "value".
func (w *world) as(user string, headers ...string) context.Context {
	ctx := auth.NewContext(w.t.Context(), auth.UserPrincipal(user, auth.ScopeAll))
	return metadata.AppendToOutgoingContext(ctx, headers...)
}

// conversation makes one of ann's.
func (w *world) conversation() string {
	w.t.Helper()
	res, err := w.Conversations.CreateConversation(w.as("ann"), &pb.CreateConversationRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.Conversation.Id
}

// send asks as ann and waits for the answer.
func (w *world) send(conversation, content string) *pb.Message {
	w.t.Helper()
	res, err := w.Conversations.SendMessage(w.as("ann"), &pb.SendMessageRequest{ConversationId: conversation, Content: content})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.Message
}

// live asks as ann and returns when the run lives.
func (w *world) live(conversation, content string) (runID string, stream grpc.ServerStreamingClient[pb.RunEvent]) {
	w.t.Helper()
	stream, err := w.Conversations.StreamMessage(w.as("ann"), &pb.StreamMessageRequest{ConversationId: conversation, Content: content})
	if err != nil {
		w.t.Fatal(err)
	}
	e, err := stream.Recv()
	if err != nil {
		w.t.Fatal(err)
	}
	return e.GetRunStarted().GetRunId(), stream
}

// drain reads a stream to its end.
func drain(t *testing.T, stream grpc.ServerStreamingClient[pb.RunEvent]) []*pb.RunEvent {
	t.Helper()
	var out []*pb.RunEvent
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("after %d events: %v", len(out), err)
		}
		out = append(out, e)
	}
}

// refused checks an error.
func refused(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	if status.Code(err) != code || rpcerr.Reason(err) != reason {
		t.Errorf("%v (%s), want %s %s", err, rpcerr.Reason(err), code, reason)
	}
}

// field is the field that an error names.
func field(err error) string {
	for _, d := range status.Convert(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok && len(bad.FieldViolations) > 0 {
			return bad.FieldViolations[0].Field
		}
	}
	return ""
}

// meta is a fact that an error carries.
func meta(err error, name string) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.Metadata[name]
		}
	}
	return ""
}

// story is a model that counts, reads a long result on, keeps silent, refuses,
// or answers.
const story = `
model: scripted-story
turns:
  - when: {user_contains: "count"}
    replies:
      - steps:
          - reasoning: "Hm."
          - text: "Counting."
          - call: {name: count, arguments: {text: "tea", top: 2}}
          - call: {name: cuont, arguments: {text: "tea"}}
        usage: {prompt_tokens: 10, completion_tokens: 2}
      - steps:
          - text: "It is {{result count text}}."
        usage: {prompt_tokens: 20, completion_tokens: 3}
  - when: {user_contains: "silence"}
    replies:
      - steps:
          - text: "Half an "
          - silence: true
  - when: {user_contains: "unauthorized"}
    replies: [{http: {status: 401, body: '{"error":{"message":"bad key"}}'}}]
    repeat: true
  - when: {user_contains: "slow down"}
    replies: [{http: {status: 429, headers: {Retry-After: "3600"}, body: '{"error":{"message":"too fast"}}'}}]
    repeat: true
  - when: {user_contains: "garbage"}
    replies: [{steps: [{raw: "data: {{{\n\n"}, {end: true}]}]
    repeat: true
  - when: {user_contains: "long"}
    replies:
      - steps: [{call: {name: long, arguments: {text: ""}}}]
      - steps: [{text: "Read."}]
  - replies:
      - steps: [{text: "You said: {{user}}"}]
        usage: {prompt_tokens: 5, completion_tokens: 1}
`
