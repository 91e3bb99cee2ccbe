package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// dial serves a ToolProviderService in memory and connects to it.
func dial(t *testing.T, srv toolv1.ToolProviderServiceServer) toolv1.ToolProviderServiceClient {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	toolv1.RegisterToolProviderServiceServer(server, srv)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///bufconn",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		<-served
	})
	return toolv1.NewToolProviderServiceClient(conn)
}

type echoIn struct {
	Text string `json:"text,omitempty" jsonschema:"the text"`
	N    int    `json:"n,omitempty"`
}

type handler func(ctx context.Context, call *Call, in echoIn) (Result, error)

func echoTool(effect Effect) Tool {
	return Tool{Name: "echo", Description: "Says it again.", Effect: effect, Sink: SinkRead}
}

// serve makes a provider with the one tool "echo".
func serve(t *testing.T, cfg Config, tool Tool, run handler) (*Provider, toolv1.ToolProviderServiceClient) {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet()
	}
	p := New(cfg)
	if err := Add(p, tool, run); err != nil {
		t.Fatal(err)
	}
	client := dial(t, p)
	t.Cleanup(func() { _ = p.Close() })
	return p, client
}

func echo(_ context.Context, _ *Call, in echoIn) (Result, error) {
	return JSON(map[string]any{"text": in.Text}), nil
}

func request(args, key string) *toolv1.CallToolRequest {
	return &toolv1.CallToolRequest{Name: "echo", ArgumentsJson: args, EffectKey: key}
}

func reasonOf(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// failureOf reads the reason of an is_error result.
func failureOf(t *testing.T, o Outcome) (reason string, retryable bool) {
	t.Helper()
	var body struct {
		Success *bool
		Error   struct {
			Reason, Message string
			Retryable       bool
		}
	}
	if err := json.Unmarshal([]byte(o.ContentJSON), &body); err != nil {
		t.Fatal(err)
	}
	if !o.IsError || body.Success == nil || *body.Success || body.Error.Message == "" {
		t.Fatalf("not a failure with words: %+v", o)
	}
	return body.Error.Reason, body.Error.Retryable
}

func wantStatus(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	if status.Code(err) != code || reasonOf(err) != reason {
		t.Errorf("got %v with reason %q, want %v with reason %q", err, reasonOf(err), code, reason)
	}
}

func TestListToolsTellsSchemaAndClasses(t *testing.T) {
	tool := echoTool(EffectPure)
	tool.Timeout = 7 * time.Second
	tool.OutputUntrusted, tool.ResultKind = true, KindWeb
	tool.Schema = func(s *jsonschema.Schema) { s.Properties["n"].Default = json.RawMessage("3") }
	_, client := serve(t, Config{}, tool, echo)
	list, err := client.ListTools(t.Context(), &toolv1.ListToolsRequest{})
	if err != nil || len(list.GetTools()) != 1 {
		t.Fatalf("got %v, %v", list, err)
	}
	got := list.GetTools()[0]
	if got.GetEffect() != "pure" || got.GetSink() != "read" || got.GetResultKind() != "web" ||
		!got.GetOutputUntrusted() || got.GetDefaultTimeout().AsDuration() != 7*time.Second || got.GetVersion() != "1" {
		t.Errorf("classes are wrong: %v", got)
	}
	text, err := json.Marshal(got.GetParameters().AsMap())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"additionalProperties":false,"properties":{"n":{"default":3,"type":"integer"},"text":{"description":"the text","type":"string"}},"type":"object"}`
	if string(text) != want {
		t.Errorf("schema is %s, want %s", text, want)
	}
}

func TestCallAnswers(t *testing.T) {
	boom := func(context.Context, *Call, echoIn) (Result, error) { panic("boom with a secret") }
	cases := []struct {
		name   string
		run    handler
		args   string
		want   string // content
		failed string // reason of an is_error result
		code   codes.Code
		reason string
	}{
		{name: "the result", run: echo, args: `{"text":"a<b"}`, want: `{"text":"a<b"}`},
		{name: "no arguments", run: echo, args: ``, want: `{"text":""}`},
		{name: "raw JSON as it is", run: func(context.Context, *Call, echoIn) (Result, error) {
			return Result{RawJSON: json.RawMessage(` [1]`)}, nil
		}, want: ` [1]`},
		{name: "bad arguments in words", run: echo, args: `{"n":"ten"}`, failed: ReasonInvalidArguments},
		{name: "a number beyond the Go type", run: echo, args: `{"n":92233720368547758070}`, failed: ReasonInvalidArguments},
		{name: "a failure in the tool's terms", run: func(context.Context, *Call, echoIn) (Result, error) {
			return Fail("NO_LUCK", "try another", true), nil
		}, failed: "NO_LUCK"},
		{name: "a status", run: func(context.Context, *Call, echoIn) (Result, error) {
			return Result{}, fmt.Errorf("inner words: %w", StatusError(codes.PermissionDenied, "NOT_YOURS", "no"))
		}, code: codes.PermissionDenied, reason: "NOT_YOURS"},
		{name: "an error without its text", run: func(context.Context, *Call, echoIn) (Result, error) {
			return Result{}, errors.New("a secret")
		}, code: codes.Internal, reason: ReasonInternal},
		{name: "a panic without its text", run: boom, code: codes.Internal, reason: ReasonInternal},
		{name: "a result that is no JSON", run: func(context.Context, *Call, echoIn) (Result, error) {
			return Result{RawJSON: json.RawMessage(`{`)}, nil
		}, code: codes.Internal, reason: ReasonInternal},
		{name: "a result that cannot be marshalled", run: func(context.Context, *Call, echoIn) (Result, error) {
			return JSON(make(chan int)), nil
		}, code: codes.Internal, reason: ReasonInternal},
		{name: "a result over the limit", run: func(context.Context, *Call, echoIn) (Result, error) {
			return JSON(strings.Repeat("x", 5<<20)), nil
		}, failed: ReasonResultTooLarge},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, client := serve(t, Config{MaxResultBytes: 4 << 20}, echoTool(EffectPure), c.run)
			got, err := Invoke(t.Context(), client, request(c.args, ""), InvokeOptions{})
			switch {
			case c.code != codes.OK:
				wantStatus(t, err, c.code, c.reason)
				if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "inner words") {
					t.Errorf("inner text leaks: %v", err)
				}
			case err != nil:
				t.Fatal(err)
			case c.failed != "":
				if reason, _ := failureOf(t, got); reason != c.failed {
					t.Errorf("reason is %s, want %s", reason, c.failed)
				}
			case got.ContentJSON != c.want || got.IsError:
				t.Errorf("got %+v, want %s", got, c.want)
			}
		})
	}
}

func TestUnknownTool(t *testing.T) {
	_, client := serve(t, Config{}, echoTool(EffectPure), echo)
	_, err := Invoke(t.Context(), client, &toolv1.CallToolRequest{Name: "nobody"}, InvokeOptions{})
	wantStatus(t, err, codes.NotFound, ReasonToolNotFound)
}

func TestOriginsAndCostArrive(t *testing.T) {
	_, client := serve(t, Config{}, echoTool(EffectPure), func(context.Context, *Call, echoIn) (Result, error) {
		return Result{Value: 1, Origins: []string{"echo:example.com"}, CostUSD: 0.25}, nil
	})
	got, err := Invoke(t.Context(), client, request("{}", ""), InvokeOptions{})
	if err != nil || len(got.Origins) != 1 || got.Origins[0] != "echo:example.com" || got.CostUSD != 0.25 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestALongResultTravelsInPieces(t *testing.T) {
	// Three bytes a character: no piece may end inside one.
	long := strings.Repeat("€", 3<<20/3+7)
	_, client := serve(t, Config{}, echoTool(EffectPure), func(context.Context, *Call, echoIn) (Result, error) {
		return JSON(long), nil
	})
	stream, err := client.CallTool(t.Context(), request("{}", ""))
	if err != nil {
		t.Fatal(err)
	}
	var pieces int
	var text strings.Builder
	for {
		msg, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if c := msg.GetContent(); c != nil {
			if pieces++; len(c.GetData()) > pieceBytes {
				t.Errorf("piece of %d bytes", len(c.GetData()))
			}
			text.WriteString(c.GetData())
		}
		if r := msg.GetResult(); r != nil {
			text.WriteString(r.GetContentJson())
			break
		}
	}
	if pieces != 4 || text.String() != `"`+long+`"` {
		t.Errorf("%d pieces, %d bytes; want 4 pieces, %d bytes", pieces, text.Len(), len(long)+2)
	}
}

func TestALeaseThatIsOverRefusesTheCall(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	ran := 0
	_, client := serve(t, Config{Now: func() time.Time { return now }}, echoTool(EffectPure),
		func(context.Context, *Call, echoIn) (Result, error) { ran++; return JSON(1), nil })
	for _, c := range []struct {
		name   string
		value  string
		code   codes.Code
		reason string
	}{
		{"over", "999999", codes.Aborted, ReasonLeaseExpired},
		{"no number", "soon", codes.InvalidArgument, ReasonBadNotAfter},
		{"not over", "1000000", codes.OK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := metadata.AppendToOutgoingContext(t.Context(), MetadataNotAfter, c.value)
			_, err := Invoke(ctx, client, request("{}", ""), InvokeOptions{})
			wantStatus(t, err, c.code, c.reason)
		})
	}
	ctx := WithNotAfter(t.Context(), now.Add(-time.Millisecond))
	_, err := Invoke(ctx, client, request("{}", ""), InvokeOptions{})
	wantStatus(t, err, codes.Aborted, ReasonLeaseExpired)
	if ran != 1 {
		t.Errorf("the tool ran %d times, want once", ran)
	}
}

func TestAddRefuses(t *testing.T) {
	ok := echoTool(EffectPure)
	with := func(edit func(*Tool)) Tool { c := ok; edit(&c); return c }
	for _, c := range []struct {
		name string
		tool Tool
		want string
	}{
		{"a taken name", ok, "has a tool of this name"},
		{"a bad name", with(func(t *Tool) { t.Name = "no spaces" }), "a name must match"},
		{"no description", with(func(t *Tool) { t.Name, t.Description = "b", "" }), "a description of 1 to 4096"},
		{"no effect", with(func(t *Tool) { t.Name, t.Effect = "b", "" }), "effect \"\" is none of"},
		{"a bad sink", with(func(t *Tool) { t.Name, t.Sink = "b", "drain" }), "sink \"drain\" is none of"},
		{"a bad result kind", with(func(t *Tool) { t.Name, t.ResultKind = "b", "x" }), "result kind"},
		{"a negative timeout", with(func(t *Tool) { t.Name, t.Timeout = "b", -1 }), "timeout"},
		{"keyed without a store", with(func(t *Tool) { t.Name, t.Effect = "b", EffectKeyed }), "needs a KeyStore"},
		{"queryable without a store", with(func(t *Tool) { t.Name, t.Effect = "b", EffectQueryable }), "needs a KeyStore"},
		{"a default that breaks the schema", with(func(t *Tool) {
			t.Name, t.Schema = "b", func(s *jsonschema.Schema) { s.Properties["n"].Default = json.RawMessage(`"x"`) }
		}), "schema of the arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := New(Config{Logger: quiet()})
			if err := Add(p, ok, echo); err != nil {
				t.Fatal(err)
			}
			if err := Add(p, c.tool, echo); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	t.Run("an input that is no struct", func(t *testing.T) {
		err := Add(New(Config{}), ok, func(context.Context, *Call, []string) (Result, error) { return JSON(1), nil })
		if err == nil || !strings.Contains(err.Error(), "is not a struct") {
			t.Errorf("got %v", err)
		}
	})
}
