package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func TestConversationsAreMadeReadChangedAndDeleted(t *testing.T) {
	w := newWorld(t, story)
	made, err := w.Conversations.CreateConversation(w.as("ann"), &pb.CreateConversationRequest{Title: "Tea", Model: "m", SystemPrompt: "be brief"})
	if err != nil {
		t.Fatal(err)
	}
	c := made.Conversation
	if c.Title != "Tea" || c.Model != "m" || c.SystemPrompt != "be brief" || c.CreatedAt == nil || c.LiveRun != nil || c.MessageCount != 0 {
		t.Errorf("made %v", c)
	}
	got, err := w.Conversations.GetConversation(w.as("ann"), &pb.GetConversationRequest{ConversationId: c.Id})
	if err != nil || !proto.Equal(got.Conversation, c) {
		t.Errorf("read %v, %v", got, err)
	}
	changed, err := w.Conversations.UpdateConversation(w.as("ann"), &pb.UpdateConversationRequest{ConversationId: c.Id, Title: proto.String("Coffee"), Model: proto.String("")})
	if err != nil || changed.Conversation.Title != "Coffee" || changed.Conversation.Model != "" || changed.Conversation.SystemPrompt != "be brief" {
		t.Errorf("changed %v, %v", changed, err)
	}
	if _, err := w.Conversations.DeleteConversation(w.as("ann"), &pb.DeleteConversationRequest{ConversationId: c.Id}); err != nil {
		t.Error(err)
	}
	_, err = w.Conversations.GetConversation(w.as("ann"), &pb.GetConversationRequest{ConversationId: c.Id})
	refused(t, err, codes.NotFound, "NOT_FOUND")
}

func TestAModelThatNobodyConfiguredIsNamedAtOnce(t *testing.T) {
	w := newWorld(t, story)
	id := w.conversation()
	_, created := w.Conversations.CreateConversation(w.as("ann"), &pb.CreateConversationRequest{Model: "gpt"})
	_, updated := w.Conversations.UpdateConversation(w.as("ann"), &pb.UpdateConversationRequest{ConversationId: id, Model: proto.String("gpt")})
	_, sent := w.Conversations.SendMessage(w.as("ann"), &pb.SendMessageRequest{ConversationId: id, Content: "hi", Model: "gpt"})
	for name, err := range map[string]error{"create": created, "update": updated, "send": sent} {
		refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		if field(err) != "model" || !strings.Contains(err.Error(), "the models are: m") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestListsArePaged(t *testing.T) {
	w := newWorld(t, "")
	for i := range 5 {
		if _, err := w.Conversations.CreateConversation(w.as("ann"), &pb.CreateConversationRequest{Title: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Conversations.CreateConversation(w.as("bob"), &pb.CreateConversationRequest{Title: "other"}); err != nil {
		t.Fatal(err)
	}
	for limit, pages := range map[int32]int{1: 5, 2: 3, 4: 2, 5: 1, 100: 1} {
		var titles string
		cursor, n := "", 0
		for {
			res, err := w.Conversations.ListConversations(w.as("ann"), &pb.ListConversationsRequest{Limit: &limit, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			n++
			for _, c := range res.Items {
				titles += c.Title
			}
			if res.HasMore != (res.NextCursor != "") {
				t.Errorf("has_more %t, next_cursor %q", res.HasMore, res.NextCursor)
			}
			if cursor = res.NextCursor; cursor == "" {
				break
			}
		}
		if titles != "43210" || n != pages {
			t.Errorf("by %d: %s in %d pages", limit, titles, n)
		}
	}
	for _, bad := range []string{"x", "conv_", "conv_x", "msg_01jz00000000000000000000000", "1 OR 1=1", strings.Repeat("c", 200)} {
		_, err := w.Conversations.ListConversations(w.as("ann"), &pb.ListConversationsRequest{Cursor: bad})
		refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		if field(err) != "cursor" {
			t.Errorf("field %q", field(err))
		}
	}
	for _, bad := range []int32{0, -1, 101} {
		_, err := w.Conversations.ListConversations(w.as("ann"), &pb.ListConversationsRequest{Limit: &bad})
		refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	}
}

func TestAnAnswerTellsHowItWasMade(t *testing.T) {
	w := newWorld(t, story)
	id := w.conversation()
	m := w.send(id, "count tea")
	if m.Content != "It is tea." || m.Role != "assistant" || m.Status != "completed" || m.FinishReason != "stop" || m.Model != "m" || m.ConversationId != id || m.Error != nil {
		t.Errorf("%v", m)
	}
	if u := m.Usage; u.InputTokens != 30 || u.OutputTokens != 5 || u.ModelCalls != 2 || u.Estimated {
		t.Errorf("usage %v", u)
	}
	var steps []string
	for _, s := range m.Steps {
		what := s.Content
		switch s.Type {
		case "tool_call":
			what = s.Call.Function.Name + s.Call.Function.Arguments
		case "tool_result":
			what = fmt.Sprintf("%s error=%t %t", s.Result.Name, s.Result.IsError, strings.Contains(s.Result.Content, "Did you mean count"))
		}
		steps = append(steps, fmt.Sprintf("%d %s %s", s.Round, s.Type, what))
	}
	want := `1 thinking Hm.
1 text Counting.
1 tool_call count{"text":"tea","top":2}
1 tool_call cuont{"text":"tea"}
1 tool_result count error=false false
1 tool_result cuont error=true true
2 text It is tea.`
	if got := strings.Join(steps, "\n"); got != want {
		t.Errorf("steps\n%s\nwant\n%s", got, want)
	}
	list, err := w.Conversations.ListMessages(w.as("ann"), &pb.ListMessagesRequest{ConversationId: id})
	if err != nil || len(list.Items) != 2 || list.HasMore || !proto.Equal(list.Items[1], m) || list.Items[0].Role != "user" || list.Items[0].Content != "count tea" || m.ParentId != list.Items[0].Id || len(list.Items[0].Steps) != 0 {
		t.Errorf("messages %v, %v", list, err)
	}
	run, err := w.Runs.GetRun(w.as("ann"), &pb.GetRunRequest{RunId: m.RunId})
	if err != nil {
		t.Fatal(err)
	}
	r := run.Run
	if r.Status != "completed" || r.MessageId != m.Id || r.Rounds != 2 || r.FinishReason != "stop" || r.EndedAt == nil || !proto.Equal(r.Usage, m.Usage) {
		t.Errorf("run %v", r)
	}
	if len(r.ToolCalls) != 2 || r.ToolCalls[0].Status != "completed" || r.ToolCalls[0].Attempt != 1 || r.ToolCalls[1].Status != "error" || r.ToolCalls[1].Attempt != 0 {
		t.Errorf("calls %v", r.ToolCalls)
	}
	c, err := w.Conversations.GetConversation(w.as("ann"), &pb.GetConversationRequest{ConversationId: id})
	if err != nil || c.Conversation.MessageCount != 2 || c.Conversation.Title != "count tea" || c.Conversation.LiveRun != nil {
		t.Errorf("conversation %v, %v", c, err)
	}
}

func TestMessagesArePagedFromTheOldest(t *testing.T) {
	w := newWorld(t, story)
	id := w.conversation()
	var want string
	for i := range 3 {
		q := fmt.Sprintf("q%d", i)
		want += q + "|" + w.send(id, q).Content + "|"
	}
	for _, limit := range []int32{1, 2, 4, 5, 6, 100} {
		var got, cursor string
		for {
			res, err := w.Conversations.ListMessages(w.as("ann"), &pb.ListMessagesRequest{ConversationId: id, Limit: &limit, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Items) > int(limit) || len(res.Items) == 0 || res.HasMore != (res.NextCursor != "") {
				t.Fatalf("a page of %d with cursor %q", len(res.Items), res.NextCursor)
			}
			for _, m := range res.Items {
				got += m.Content + "|"
			}
			if cursor = res.NextCursor; cursor == "" {
				break
			}
		}
		if got != want {
			t.Errorf("by %d: %s", limit, got)
		}
	}
	_, err := w.Conversations.ListMessages(w.as("ann"), &pb.ListMessagesRequest{ConversationId: id, Cursor: "msg_of_another_branch"})
	refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	if field(err) != "cursor" {
		t.Errorf("field %q", field(err))
	}
}

func TestAPageOfHeavyMessagesEndsEarly(t *testing.T) {
	w := newWorld(t, "")
	id := w.conversation()
	err := w.svc.db.Write(t.Context(), func(ctx context.Context, tx bun.IDB) error {
		heavy := schema.Message{ConversationID: id, UserID: "ann", Role: schema.RoleUser, Content: strings.Repeat("纳", 200_000)} // 600 kB
		for range 10 {
			heavy.ParentID, heavy.ID, heavy.PathLength = heavy.ID, ident.New(schema.MessagePrefix), heavy.PathLength+1
			if _, err := tx.NewInsert().Model(&heavy).Exec(ctx); err != nil {
				return err
			}
		}
		_, err := tx.NewUpdate().Model((*schema.Conversation)(nil)).Set("active_leaf = ?", heavy.ID).Where("id = ?", id).Exec(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	messages, pages, cursor := 0, 0, ""
	for {
		res, err := w.Conversations.ListMessages(w.as("ann"), &pb.ListMessagesRequest{ConversationId: id, Limit: proto.Int32(100), Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		n := len(res.Items)
		if n == 0 || proto.Size(res) > 5<<20 || res.HasMore && res.NextCursor != res.Items[n-1].Id {
			t.Errorf("a page of %d messages in %d bytes", n, proto.Size(res))
		}
		messages, pages = messages+n, pages+1
		if cursor = res.NextCursor; cursor == "" {
			break
		}
	}
	if messages != 10 || pages < 2 {
		t.Errorf("%d messages in %d pages", messages, pages)
	}
}

func TestAnAnswerCanBeMadeAgain(t *testing.T) {
	w := newWorld(t, story)
	id := w.conversation()
	first := w.send(id, "hello")
	stream, err := w.Conversations.RegenerateMessage(w.as("ann"), &pb.RegenerateMessageRequest{ConversationId: id, MessageId: first.Id})
	if err != nil {
		t.Fatal(err)
	}
	events := drain(t, stream)
	second := events[len(events)-1].GetDone().GetMessageId()
	list, err := w.Conversations.ListMessages(w.as("ann"), &pb.ListMessagesRequest{ConversationId: id})
	if err != nil || len(list.Items) != 2 || list.Items[1].Id != second || second == first.Id || list.Items[1].ParentId != first.ParentId {
		t.Errorf("messages %v, %v", list, err)
	}
	for name, mid := range map[string]string{"unknown": "msg_none", "of another conversation": w.send(w.conversation(), "x").Id} {
		stream, err := w.Conversations.RegenerateMessage(w.as("ann"), &pb.RegenerateMessageRequest{ConversationId: id, MessageId: mid})
		if err == nil {
			_, err = stream.Recv()
		}
		refused(t, err, codes.NotFound, "NOT_FOUND")
		if !strings.Contains(err.Error(), "message") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASecondMessageWhileARunLives(t *testing.T) {
	w := newWorld(t, story)
	id := w.conversation()
	runID, stream := w.live(id, "silence please")
	_, err := w.Conversations.SendMessage(w.as("ann"), &pb.SendMessageRequest{ConversationId: id, Content: "and?"})
	refused(t, err, codes.Aborted, "RUN_IN_PROGRESS")
	if meta(err, "run_id") != runID {
		t.Errorf("run_id %q, want %q", meta(err, "run_id"), runID)
	}
	_, err = w.Conversations.Chat(w.as("ann"), &pb.ChatRequest{ConversationId: id, Message: "and?"})
	refused(t, err, codes.Aborted, "RUN_IN_PROGRESS")
	c, err := w.Conversations.GetConversation(w.as("ann"), &pb.GetConversationRequest{ConversationId: id})
	if err != nil || c.Conversation.LiveRun.GetId() != runID || c.Conversation.LiveRun.Status != "running" || c.Conversation.LiveRun.LastSeq < 1 {
		t.Errorf("conversation %v, %v", c, err)
	}
	for { // until some text is there
		e, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e.GetMessage() != nil {
			break
		}
	}
	if _, err := w.Runs.CancelRun(w.as("ann"), &pb.CancelRunRequest{RunId: runID}); err != nil {
		t.Fatal(err)
	}
	events := drain(t, stream)
	if done := events[len(events)-1].GetDone(); done.GetFinishReason() != "cancelled" {
		t.Errorf("ended with %v", events[len(events)-1])
	}
	list, err := w.Conversations.ListMessages(w.as("ann"), &pb.ListMessagesRequest{ConversationId: id})
	if err != nil || len(list.Items) != 2 || !strings.HasPrefix(list.Items[1].Content, "Half") || list.Items[1].Status != "cancelled" || len(list.Items[1].Steps) != 1 {
		t.Errorf("messages %v, %v", list, err)
	}
	if again, err := w.Runs.CancelRun(w.as("ann"), &pb.CancelRunRequest{RunId: runID}); err != nil || again.Run.Status != "cancelled" {
		t.Errorf("cancelled twice: %v, %v", again, err)
	}
	if m := w.send(id, "and now?"); !strings.Contains(m.Content, "and now?") {
		t.Errorf("%v", m)
	}
}

func TestDeletingAConversationEndsItsRun(t *testing.T) {
	w := newWorld(t, story)
	id := w.conversation()
	w.send(id, "a long one")
	blobs, err := w.svc.conversations.Store.Blobs(t.Context(), id)
	if err != nil || len(blobs) != 1 {
		t.Fatalf("stored results %v, %v", blobs, err)
	}
	runID, stream := w.live(id, "silence please")
	if _, err := w.Conversations.DeleteConversation(w.as("ann"), &pb.DeleteConversationRequest{ConversationId: id}); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := stream.Recv(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("its stream ended with %v", err)
			}
			break
		}
	}
	_, err = w.Runs.GetRun(w.as("ann"), &pb.GetRunRequest{RunId: runID})
	refused(t, err, codes.NotFound, "NOT_FOUND")
	if _, err := w.svc.results.Bucket.Get(t.Context(), blobs[0]); err == nil {
		t.Error("a stored result is left")
	}
	_, err = w.Conversations.DeleteConversation(w.as("ann"), &pb.DeleteConversationRequest{ConversationId: id})
	refused(t, err, codes.NotFound, "NOT_FOUND")
}

func TestAModelThatIsNotConfiguredAnyMoreIsNotReplacedSilently(t *testing.T) {
	w := newWorld(t, story)
	c, err := w.svc.conversations.Store.Create(t.Context(), "ann", "", "gone", "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Conversations.SendMessage(w.as("ann"), &pb.SendMessageRequest{ConversationId: c.ID, Content: "hi"})
	refused(t, err, codes.FailedPrecondition, "MODEL_NOT_CONFIGURED")
	if m, err := w.Conversations.SendMessage(w.as("ann"), &pb.SendMessageRequest{ConversationId: c.ID, Content: "hi", Model: "m"}); err != nil || m.Message.Model != "m" {
		t.Errorf("named with the message: %v, %v", m, err)
	}
}

func TestOtherPeoplesThingsDoNotExist(t *testing.T) {
	w := newWorld(t, story)
	id := w.conversation()
	m := w.send(id, "hello")
	token, err := w.Identity.CreateToken(w.as("ann"), &pb.CreateTokenRequest{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	bob := w.as("bob")
	calls := map[string]func() error{
		"get": func() error {
			_, err := w.Conversations.GetConversation(bob, &pb.GetConversationRequest{ConversationId: id})
			return err
		},
		"update": func() error {
			_, err := w.Conversations.UpdateConversation(bob, &pb.UpdateConversationRequest{ConversationId: id, Title: proto.String("x")})
			return err
		},
		"delete": func() error {
			_, err := w.Conversations.DeleteConversation(bob, &pb.DeleteConversationRequest{ConversationId: id})
			return err
		},
		"messages": func() error {
			_, err := w.Conversations.ListMessages(bob, &pb.ListMessagesRequest{ConversationId: id})
			return err
		},
		"send": func() error {
			_, err := w.Conversations.SendMessage(bob, &pb.SendMessageRequest{ConversationId: id, Content: "x"})
			return err
		},
		"stream": func() error {
			s, err := w.Conversations.StreamMessage(bob, &pb.StreamMessageRequest{ConversationId: id, Content: "x"})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
		"regenerate": func() error {
			s, err := w.Conversations.RegenerateMessage(bob, &pb.RegenerateMessageRequest{ConversationId: id, MessageId: m.Id})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
		"chat": func() error {
			_, err := w.Conversations.Chat(bob, &pb.ChatRequest{ConversationId: id, Message: "x"})
			return err
		},
		"run": func() error { _, err := w.Runs.GetRun(bob, &pb.GetRunRequest{RunId: m.RunId}); return err },
		"watch": func() error {
			s, err := w.Runs.WatchRun(bob, &pb.WatchRunRequest{RunId: m.RunId})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		},
		"cancel": func() error { _, err := w.Runs.CancelRun(bob, &pb.CancelRunRequest{RunId: m.RunId}); return err },
		"token":  func() error { _, err := w.Identity.GetToken(bob, &pb.GetTokenRequest{TokenId: token.Id}); return err },
		"rename": func() error {
			_, err := w.Identity.UpdateToken(bob, &pb.UpdateTokenRequest{TokenId: token.Id, Name: "x"})
			return err
		},
		"revoke": func() error {
			_, err := w.Identity.DeleteToken(bob, &pb.DeleteTokenRequest{TokenId: token.Id})
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) { refused(t, call(), codes.NotFound, "NOT_FOUND") })
	}
	if list, err := w.Conversations.ListMessages(w.as("ann"), &pb.ListMessagesRequest{ConversationId: id}); err != nil || len(list.Items) != 2 {
		t.Errorf("afterwards %v, %v", list, err)
	}
}

func TestAConversationIsMadeOnceForAKey(t *testing.T) {
	w := newWorld(t, "")
	create := func(ctx context.Context, title string) (*pb.Conversation, error) {
		res, err := w.Conversations.CreateConversation(ctx, &pb.CreateConversationRequest{Title: title})
		return res.GetConversation(), err
	}
	first, err := create(w.as("ann", "idempotency-key", "k"), "tea")
	if err != nil {
		t.Fatal(err)
	}
	title := "black tea"
	if _, err := w.Conversations.UpdateConversation(w.as("ann"), &pb.UpdateConversationRequest{ConversationId: first.Id, Title: &title}); err != nil {
		t.Fatal(err)
	}
	again, err := create(w.as("ann", "idempotency-key", "k"), "tea")
	if err != nil || again.Id != first.Id || again.Title != title {
		t.Errorf("again: %v, %v; want %s as it is now", again, err, first.Id)
	}
	for name, ctx := range map[string]context.Context{
		"another key": w.as("ann", "idempotency-key", "l"), "no key": w.as("ann"), "another user": w.as("bob", "idempotency-key", "k"),
	} {
		if c, err := create(ctx, "tea"); err != nil || c.Id == first.Id {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	_, err = create(w.as("ann", "idempotency-key", "k"), "coffee")
	refused(t, err, codes.Aborted, "KEY_REUSED")
	for name, keys := range map[string][]string{
		"an empty key": {"idempotency-key", ""}, "two keys": {"idempotency-key", "a", "idempotency-key", "b"},
		"a long key": {"idempotency-key", strings.Repeat("k", 201)},
	} {
		if _, err := create(w.as("ann", keys...), "tea"); field(err) != "Idempotency-Key" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.Conversations.DeleteConversation(w.as("ann"), &pb.DeleteConversationRequest{ConversationId: first.Id}); err != nil {
		t.Fatal(err)
	}
	_, err = create(w.as("ann", "idempotency-key", "k"), "tea")
	refused(t, err, codes.NotFound, "NOT_FOUND")
	w.now.Store((25 * time.Hour).Milliseconds())
	if c, err := create(w.as("ann", "idempotency-key", "k"), "tea"); err != nil || c.Id == first.Id {
		t.Errorf("a day later: %v, %v", c, err)
	}
}
