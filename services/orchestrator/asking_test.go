package orchestrator

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// count is how many conversations ann has.
func (w *world) count() int {
	w.t.Helper()
	res, err := w.Conversations.ListConversations(w.as("ann"), &pb.ListConversationsRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(res.Items)
}

func TestWithoutAModelOneIsToldHowToConfigureOne(t *testing.T) {
	w := newWorld(t, "")
	id := w.conversation()
	_, sent := w.Conversations.SendMessage(w.as("ann"), &pb.SendMessageRequest{ConversationId: id, Content: "hi"})
	_, chatted := w.Conversations.Chat(w.as("ann"), &pb.ChatRequest{Message: "hi"})
	stream, streamed := w.Conversations.StreamMessage(w.as("ann"), &pb.StreamMessageRequest{ConversationId: id, Content: "hi"})
	if streamed == nil {
		_, streamed = stream.Recv()
	}
	for name, err := range map[string]error{"send": sent, "chat": chatted, "stream": streamed} {
		refused(t, err, codes.FailedPrecondition, "MODEL_NOT_CONFIGURED")
		if !strings.Contains(err.Error(), "config.yml") {
			t.Errorf("%s: %v", name, err)
		}
	}
	list, err := w.Conversations.ListMessages(w.as("ann"), &pb.ListMessagesRequest{ConversationId: id})
	if err != nil || len(list.Items) != 0 || w.count() != 1 {
		t.Errorf("something was written: %v, %v, %d conversations", list, err, w.count())
	}
}

func TestAModelThatFailsIsNamedWithWhatToDo(t *testing.T) {
	w := newWorld(t, story, func(b *bed) {
		// An account that is refused is left alone for a while; another key is another one.
		b.cfg.Models = append(b.cfg.Models, ModelConfig{ID: "keyed", APIURL: b.cfg.Models[0].APIURL, APIKey: "another-key"},
			ModelConfig{ID: "down", APIURL: "http://" + addrtest.Reserve(t)})
	})
	cases := []struct {
		content, model string
		code           codes.Code
		reason         string
	}{
		{"unauthorized", "keyed", codes.Unavailable, "MODEL_AUTH_FAILED"},
		{"garbage", "m", codes.Unavailable, ""},
		{"slow down", "m", codes.ResourceExhausted, "MODEL_RATE_LIMITED"},
		{"hello", "down", codes.Unavailable, "MODEL_UNREACHABLE"},
	}
	for _, c := range cases {
		id := w.conversation()
		_, err := w.Conversations.SendMessage(w.as("ann"), &pb.SendMessageRequest{ConversationId: id, Content: c.content, Model: c.model})
		if status.Code(err) != c.code || c.reason != "" && rpcerr.Reason(err) != c.reason || !strings.HasPrefix(rpcerr.Reason(err), "MODEL_") {
			t.Errorf("%s: %v (%s)", c.content, err, rpcerr.Reason(err))
		}
		run, failed := w.Runs.GetRun(w.as("ann"), &pb.GetRunRequest{RunId: meta(err, "run_id")})
		if failed != nil || run.Run.Status != "failed" || run.Run.Error.GetReason() != rpcerr.Reason(err) || run.Run.Error.Message == "" || run.Run.FinishReason != "" {
			t.Errorf("%s: run %v, %v", c.content, run, failed)
		}
		list, failed := w.Conversations.ListMessages(w.as("ann"), &pb.ListMessagesRequest{ConversationId: id})
		if failed != nil || len(list.Items) != 2 || list.Items[1].Error.GetReason() != rpcerr.Reason(err) || list.Items[1].Status != "failed" {
			t.Errorf("%s: messages %v, %v", c.content, list, failed)
		}
		got, failed := w.Conversations.GetConversation(w.as("ann"), &pb.GetConversationRequest{ConversationId: id})
		if failed != nil || got.Conversation.LiveRun != nil {
			t.Errorf("%s: the conversation is stuck: %v, %v", c.content, got, failed)
		}
	}
}

func TestEmptyMessagesAreRefused(t *testing.T) {
	w := newWorld(t, story)
	id := w.conversation()
	for _, content := range []string{"", " ", "\n\t "} {
		_, sent := w.Conversations.SendMessage(w.as("ann"), &pb.SendMessageRequest{ConversationId: id, Content: content})
		_, chatted := w.Conversations.Chat(w.as("ann"), &pb.ChatRequest{Message: content})
		refused(t, sent, codes.InvalidArgument, "INVALID_ARGUMENT")
		refused(t, chatted, codes.InvalidArgument, "INVALID_ARGUMENT")
		if field(sent) != "content" || field(chatted) != "message" {
			t.Errorf("fields %q and %q", field(sent), field(chatted))
		}
	}
	if w.count() != 1 {
		t.Errorf("%d conversations", w.count())
	}
}

func TestBotsChat(t *testing.T) {
	w := newWorld(t, story)
	first, err := w.Conversations.Chat(w.as("ann"), &pb.ChatRequest{Message: "hello"})
	if err != nil || first.Reply != "You said: hello" || first.ConversationId == "" {
		t.Fatalf("%v, %v", first, err)
	}
	second, err := w.Conversations.Chat(w.as("ann"), &pb.ChatRequest{Message: "again", ConversationId: first.ConversationId})
	if err != nil || second.Reply != "You said: again" || second.ConversationId != first.ConversationId {
		t.Errorf("%v, %v", second, err)
	}
	_, err = w.Conversations.Chat(w.as("ann"), &pb.ChatRequest{Message: "again", ConversationId: "conv_none"})
	refused(t, err, codes.NotFound, "NOT_FOUND")
	if w.count() != 1 {
		t.Errorf("%d conversations", w.count())
	}
}

func TestAChatThatIsSentTwiceIsAnsweredOnce(t *testing.T) {
	w := newWorld(t, story)
	ask := func(message string) (*pb.ChatResponse, error) {
		return w.Conversations.Chat(w.as("ann", "idempotency-key", "k"), &pb.ChatRequest{Message: message})
	}
	first, err := ask("hello")
	if err != nil {
		t.Fatal(err)
	}
	again, err := ask("hello")
	if err != nil || again.ConversationId != first.ConversationId || again.Reply != first.Reply {
		t.Errorf("%v, %v", again, err)
	}
	_, err = ask("something else")
	refused(t, err, codes.Aborted, "KEY_REUSED")
	if w.count() != 1 {
		t.Errorf("%d conversations", w.count())
	}
	if _, err := w.Conversations.DeleteConversation(w.as("ann"), &pb.DeleteConversationRequest{ConversationId: first.ConversationId}); err != nil {
		t.Fatal(err)
	}
	_, err = ask("hello")
	refused(t, err, codes.NotFound, "NOT_FOUND")
	if w.count() != 0 {
		t.Errorf("%d conversations", w.count())
	}
}

func TestAMessageThatIsSentTwiceIsAnsweredOnce(t *testing.T) {
	w := newWorld(t, story)
	id := w.conversation()
	req := &pb.SendMessageRequest{ConversationId: id, Content: "hello"}
	first, err := w.Conversations.SendMessage(w.as("ann", "idempotency-key", "k"), req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.Conversations.SendMessage(w.as("ann", "idempotency-key", "k"), req)
	if err != nil || again.Message.Id != first.Message.Id {
		t.Errorf("%v, %v", again, err)
	}
	stream, err := w.Conversations.StreamMessage(w.as("ann", "idempotency-key", "k"), &pb.StreamMessageRequest{ConversationId: id, Content: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	events := drain(t, stream)
	if done := events[len(events)-1].GetDone(); done.GetMessageId() != first.Message.Id || events[0].Seq != 1 {
		t.Errorf("streamed %v", events)
	}
	_, err = w.Conversations.SendMessage(w.as("ann", "idempotency-key", "k"), &pb.SendMessageRequest{ConversationId: id, Content: "other"})
	refused(t, err, codes.Aborted, "KEY_REUSED")
	other, err := w.Conversations.SendMessage(w.as("ann", "idempotency-key", "l"), req)
	if err != nil || other.Message.Id == first.Message.Id {
		t.Errorf("another key: %v, %v", other, err)
	}
	_, err = w.Conversations.SendMessage(w.as("ann", "idempotency-key", strings.Repeat("k", 201)), req)
	refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	if field(err) != "Idempotency-Key" {
		t.Errorf("field %q", field(err))
	}
	if _, err := w.Conversations.SendMessage(w.as("ann", "idempotency-key", strings.Repeat("k", 200)), req); err != nil {
		t.Errorf("the longest key: %v", err)
	}
}

func TestARunIsReadFromAnywhere(t *testing.T) {
	w := newWorld(t, story)
	m := w.send(w.conversation(), "count tea")
	watch := func(after int32, headers ...string) ([]*pb.RunEvent, error) {
		stream, err := w.Runs.WatchRun(w.as("ann", headers...), &pb.WatchRunRequest{RunId: m.RunId, AfterSeq: after})
		if err != nil {
			return nil, err
		}
		var out []*pb.RunEvent
		for {
			e, err := stream.Recv()
			if err != nil {
				if err.Error() == "EOF" {
					err = nil
				}
				return out, err
			}
			out = append(out, e)
		}
	}
	all, err := watch(0)
	if err != nil || len(all) < 5 {
		t.Fatalf("%v, %v", all, err)
	}
	for i, e := range all {
		if int(e.Seq) != i+1 {
			t.Errorf("event %d has the number %d", i, e.Seq)
		}
	}
	last := all[len(all)-1].Seq
	cases := []struct {
		name    string
		after   int32
		headers []string
		first   int32 // number of the first event; 0: a ping alone
	}{
		{"from the middle", 3, nil, 4},
		{"the header wins", 1, []string{"last-event-id", "4"}, 5},
		{"an empty header says nothing", 3, []string{"last-event-id", ""}, 4},
		{"from the header's beginning", 3, []string{"last-event-id", "0"}, 1},
		{"at the end", last, nil, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := watch(c.after, c.headers...)
			if err != nil || len(got) == 0 || got[0].Seq != c.first {
				t.Fatalf("%v, %v", got, err)
			}
			if c.first == 0 && (got[0].GetPing() == nil || len(got) != 1) || c.first > 0 && got[len(got)-1].GetDone() == nil {
				t.Errorf("%v", got)
			}
		})
	}
	for _, beyond := range []struct {
		after   int32
		headers []string
		field   string
	}{{last + 1, nil, "after_seq"}, {0, []string{"last-event-id", "1000"}, "Last-Event-ID"}} {
		got, err := watch(beyond.after, beyond.headers...)
		refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		if field(err) != beyond.field || len(got) != 0 || !strings.Contains(err.Error(), fmt.Sprintf("the run has %d events", last)) {
			t.Errorf("%s: %v, %v", field(err), got, err)
		}
	}
	for _, bad := range []string{"x", "-1", "1.5", " 1", "99999999999", "1;2", "\x01"} {
		_, err := watch(0, "last-event-id", bad)
		if status.Code(err) != codes.InvalidArgument && bad != "\x01" || err == nil {
			t.Errorf("%q: %v", bad, err)
		}
	}
	_, err = w.Runs.GetRun(w.as("ann"), &pb.GetRunRequest{RunId: "run_none"})
	refused(t, err, codes.NotFound, "NOT_FOUND")
}

func TestAResultThatWasCutIsReadOnByTheModel(t *testing.T) {
	script := `
model: scripted-reader
turns:
  - replies:
      - steps: [{call: {name: long, arguments: {text: ""}}}]
      - steps: [{call: {name: read_result, arguments: {result_id: "%s", offset: 10000}}}]
      - steps: [{text: "{{result read_result}}"}]
`
	// The model cannot name the id of a result before it is made, so that the
	// first conversation only makes it.
	w := newWorld(t, fmt.Sprintf(script, "call_none"))
	m := w.send(w.conversation(), "hello")
	made := m.Steps[1].Result
	if !made.Truncated || made.ResultId == "" || !strings.Contains(m.Content, "RESULT_NOT_FOUND") {
		t.Fatalf("%v", m)
	}
	whole := strings.Repeat("纳米爪 ", 25_000)
	var got strings.Builder
	for offset := 0; ; {
		res, err := w.Tools.InvokeTool(w.as("ann"), &pb.InvokeToolRequest{Name: "read_result", ArgumentsJson: fmt.Sprintf(`{"result_id":%q,"offset":%d,"max_chars":2000}`, made.ResultId, offset)})
		if err != nil || res.Result.IsError {
			t.Fatalf("at %d: %v, %v", offset, res, err)
		}
		var page struct {
			Markdown   string `json:"markdown"`
			NextOffset int    `json:"next_offset"`
		}
		decode(t, res.Result.Content, &page)
		text, _, _ := strings.Cut(page.Markdown, "\n\n[Cut: ")
		got.WriteString(text)
		if offset = page.NextOffset; offset == 0 {
			break
		}
	}
	if got.String() != whole {
		t.Errorf("read %d bytes, want %d", got.Len(), len(whole))
	}
	res, err := w.Tools.InvokeTool(w.as("bob"), &pb.InvokeToolRequest{Name: "read_result", ArgumentsJson: fmt.Sprintf(`{"result_id":%q}`, made.ResultId)})
	if err != nil || !res.Result.IsError || !strings.Contains(res.Result.Content, "RESULT_NOT_FOUND") {
		t.Errorf("somebody else: %v, %v", res, err)
	}
}
