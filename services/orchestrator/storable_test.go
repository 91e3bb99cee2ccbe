package orchestrator

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/storable"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/tooltest"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// unstorable is a model that says what no database keeps, in every way.
const unstorable = `
model: scripted-unstorable
turns:
  - when: {user_contains: "tools"}
    replies:
      - steps:
          - reasoning: "r\0r"
          - text: "t\0t"
          - call: {id: "i\0i", name: "bad", arguments: {text: "a\0a"}}
          - call: {name: "b\0d", arguments: {}}
          - call: {name: "bad", arguments: "{\"text\": \"\\u0000\"}"}
      - steps: [{text: "Seen \0 it."}]
  - when: {user_contains: "bytes"}
    replies:
      - steps:
          - raw: !!binary ZGF0YTogeyJjaG9pY2VzIjpbeyJkZWx0YSI6eyJjb250ZW50IjoiYee6In19XX0KCg==
          - text: "."
  - when: {user_contains: "fails"}
    replies: [{http: {status: 400, body: '{"error":{"message":"no \u0000 way"}}'}}]
    repeat: true
  - replies:
      - steps: [{text: "nul \0 and"}]
`

// textsOf gives every text of a message to f.
func textsOf(m protoreflect.Message, f func(path, text string)) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := string(fd.Name())
		each := func(v protoreflect.Value) {
			switch fd.Kind() {
			case protoreflect.StringKind:
				f(name, v.String())
			case protoreflect.MessageKind:
				textsOf(v.Message(), func(path, text string) { f(name+"."+path, text) })
			}
		}
		switch {
		case fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				each(v.List().Get(i))
			}
		default:
			each(v)
		}
		return true
	})
}

func TestWhatModelsAndToolsSayIsStoredAsItWasStreamed(t *testing.T) {
	w := newWorld(t, unstorable, func(b *bed) {
		p := tooltest.Provider(t)
		tooltest.Add(t, p, tooltest.Tool("bad"), func(_ context.Context, _ *toolkit.Call, in tooltest.Input) (toolkit.Result, error) {
			r := toolkit.JSON(map[string]any{"success": true, "markdown": "m\x00m " + in.Text, "n\x00": "v\x00"})
			r.Origins = []string{"bad:a\x00.org"}
			return r, nil
		})
		b.deps.Providers = append(b.deps.Providers, Provider{Name: "bad", Conn: tooltest.Conn(t, p)})
		b.cfg.Tools.Enabled = append(b.cfg.Tools.Enabled, "bad")
	})
	for _, tc := range []struct {
		ask, content string
		rounds       int
	}{
		{"nul", "nul \uFFFD and", 1},
		{"tools", "Seen \uFFFD it.", 2},
		{"bytes", "a\uFFFD\uFFFD.", 1},
	} {
		t.Run(tc.ask, func(t *testing.T) {
			conversation := w.conversation()
			_, stream := w.live(conversation, tc.ask)
			streamed := map[int32]string{}
			var end *pb.Done
			for _, e := range drain(t, stream) {
				textsOf(e.ProtoReflect(), func(path, text string) {
					if !storable.Is(text) {
						t.Errorf("%s = %q", path, text)
					}
				})
				if m := e.GetMessage(); m != nil {
					streamed[m.Round] = streamed[m.Round][:m.Offset] + m.Content
				}
				if d := e.GetDone(); d != nil {
					end = d
				}
			}
			if end.GetFinishReason() != "stop" || int(end.GetUsage().GetModelCalls()) != tc.rounds {
				t.Fatalf("done = %v", end)
			}
			list, err := w.Conversations.ListMessages(w.as("ann"), &pb.ListMessagesRequest{ConversationId: conversation})
			if err != nil {
				t.Fatal(err)
			}
			textsOf(list.ProtoReflect(), func(path, text string) {
				if !storable.Is(text) {
					t.Errorf("%s = %q", path, text)
				}
			})
			m := list.Items[1]
			if m.Content != tc.content || streamed[int32(tc.rounds)] != tc.content {
				t.Errorf("stored %q, streamed %q, want %q", m.Content, streamed, tc.content)
			}
			for _, s := range m.Steps {
				if s.Type == "text" && s.Content != streamed[s.Round] {
					t.Errorf("round %d: stored %q, streamed %q", s.Round, s.Content, streamed[s.Round])
				}
			}
			// The history is not poisoned.
			if next := w.send(conversation, "nul"); next.Content != "nul \uFFFD and" {
				t.Errorf("the next answer is %q", next.Content)
			}
		})
	}
	_, err := w.Conversations.SendMessage(w.as("ann"), &pb.SendMessageRequest{ConversationId: w.conversation(), Content: "fails"})
	refused(t, err, codes.Unavailable, "MODEL_REFUSED_REQUEST")
}

func TestRequestsWithWhatCannotBeStoredAreRefusedByField(t *testing.T) {
	w := newWorld(t, story)
	ctx, id := w.as("ann"), w.conversation()
	for _, tc := range []struct {
		field string
		call  func() (proto.Message, error)
	}{
		{"content", func() (proto.Message, error) {
			return w.Conversations.SendMessage(ctx, &pb.SendMessageRequest{ConversationId: id, Content: "a\x00b"})
		}},
		{"conversation_id", func() (proto.Message, error) {
			return w.Conversations.GetConversation(ctx, &pb.GetConversationRequest{ConversationId: "a\x00b"})
		}},
		{"title", func() (proto.Message, error) {
			return w.Conversations.CreateConversation(ctx, &pb.CreateConversationRequest{Title: "a\x00b"})
		}},
		{"system_prompt", func() (proto.Message, error) {
			return w.Conversations.CreateConversation(ctx, &pb.CreateConversationRequest{SystemPrompt: "\x00"})
		}},
		{"message", func() (proto.Message, error) { return w.Conversations.Chat(ctx, &pb.ChatRequest{Message: "\x00"}) }},
		{"name", func() (proto.Message, error) {
			return w.Identity.CreateToken(ctx, &pb.CreateTokenRequest{Name: "a\x00b"})
		}},
		{"content", func() (proto.Message, error) {
			stream, err := w.Conversations.StreamMessage(ctx, &pb.StreamMessageRequest{ConversationId: id, Content: "a\x00b"})
			if err != nil {
				return nil, err
			}
			return stream.Recv()
		}},
	} {
		t.Run(tc.field, func(t *testing.T) {
			_, err := tc.call()
			refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
			if field(err) != tc.field || !strings.Contains(fmt.Sprint(err), "U+0000") {
				t.Errorf("%v names %q", err, field(err))
			}
		})
	}
}
