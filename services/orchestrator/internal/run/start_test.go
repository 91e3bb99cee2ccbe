package run

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/idempotency"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func TestFourRunsOfAUserGoOnTwentyWaitAndTheNextIsRefused(t *testing.T) {
	w := newWorld(t)
	for i := range 24 {
		want := schema.RunRunning
		if i >= 4 {
			want = schema.RunQueued
		}
		if st := w.ask("ann"); st.Run.Status != want {
			t.Fatalf("run %d is %s, want %s", i+1, st.Run.Status, want)
		}
	}
	c := w.conversation("ann")
	_, err := w.Start(ctx, Request{UserID: "ann", ConversationID: c, Content: "x", Free: true}, alice, limits)
	if !errors.Is(err, ErrTooMany) {
		t.Errorf("the 25th: %v, want ErrTooMany", err)
	}
	if n := w.count("messages", "conversation_id = ?", c); n != 0 {
		t.Errorf("the refused message left %d rows behind", n)
	}
	if st := w.ask("ben"); st.Run.Status != schema.RunRunning {
		t.Errorf("another user's run is %s", st.Run.Status)
	}
}

func TestARunIsQueuedWhenItsOwnerHasNoRoom(t *testing.T) {
	w := newWorld(t)
	st := w.start(Request{UserID: "ann", ConversationID: w.conversation("ann"), Content: "x", Free: false})
	if st.Run.Status != schema.RunQueued || st.Lease != (Lease{}) || st.Call.ID != "" {
		t.Errorf("started = %+v", st)
	}
	if got := w.events(st.Run.ID); len(got) != 1 || got[0] != "run_started" {
		t.Errorf("events = %v", got)
	}
}

func TestStartStoresMessageRunFirstModelCallAndEventTogether(t *testing.T) {
	w := newWorld(t)
	before := w.leaseClock()
	st := w.ask("ann")
	r := w.get(st)
	if r.Status != schema.RunRunning || r.LeaseOwner != alice.ID || r.LeaseEpoch != 1 || r.Rounds != 1 || r.LastSeq != 1 {
		t.Errorf("run = %+v", r)
	}
	if from := r.LeaseUntil - LeaseTime.Milliseconds(); from < before || from > w.leaseClock() {
		t.Errorf("lease from %d, begun at %d", from, before)
	}
	c, err := w.conversations.Get(ctx, "ann", r.ConversationID)
	if err != nil || c.LiveRun != r.ID || c.ActiveLeaf != r.UserMessageID || c.Title != "hello" {
		t.Errorf("conversation = %+v, %v", c, err)
	}
	if st.Call.Round != 1 || w.count("model_calls", "id = ? AND state = 'started'", st.Call.ID) != 1 {
		t.Errorf("model call = %+v", st.Call)
	}
	if r.UserMessageID >= r.MessageID {
		t.Error("the question does not sort before its answer")
	}
}

func TestOfConcurrentMessagesInOneConversationExactlyOneStarts(t *testing.T) {
	w := newWorld(t)
	c := w.conversation("ann")
	var wg sync.WaitGroup
	results := make([]error, 16)
	runs := make([]string, len(results))
	for i := range results {
		wg.Go(func() {
			st, err := w.Start(ctx, Request{UserID: "ann", ConversationID: c, Content: "x", Free: true}, alice, limits)
			results[i], runs[i] = err, st.Run.ID
		})
	}
	wg.Wait()
	winner := ""
	for i, err := range results {
		if err == nil {
			if winner != "" {
				t.Fatal("two messages started a run")
			}
			winner = runs[i]
		}
	}
	for _, err := range results {
		var busy *InProgressError
		if err != nil && (!errors.As(err, &busy) || busy.RunID != winner) {
			t.Errorf("err = %v, want that run %s is going on", err, winner)
		}
	}
	if n := w.count("messages", "conversation_id = ?", c); n != 1 {
		t.Errorf("%d messages were stored, want 1", n)
	}
}

func TestWhatCannotBeAskedIsRefusedAndLeavesNothing(t *testing.T) {
	w := newWorld(t)
	done := w.ask("ann")
	w.finish(done)
	c, foreign := done.Run.ConversationID, w.ask("ben")
	for _, tc := range []struct {
		name string
		req  Request
		want error
	}{
		{"a conversation that is not there", Request{ConversationID: "conv_x", Content: "x"}, ErrNoConversation},
		{"a conversation of somebody else", Request{ConversationID: foreign.Run.ConversationID, Content: "x"}, ErrNoConversation},
		{"a message that is not there", Request{ConversationID: c, RegenerateOf: "msg_x"}, ErrNoMessage},
		{"a message of somebody else", Request{ConversationID: c, RegenerateOf: foreign.Run.UserMessageID}, ErrNoMessage},
		{"neither content nor message", Request{ConversationID: c}, ErrNoMessage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := w.count("runs", "1=1") + w.count("messages", "1=1") + w.count("model_calls", "1=1")
			tc.req.UserID, tc.req.Free = "ann", true
			tc.req.Key = idempotency.Key{Route: "r", Key: tc.name, BodySHA256: "b"}
			if _, err := w.Start(ctx, tc.req, alice, limits); !errors.Is(err, tc.want) {
				t.Errorf("err = %v, want %v", err, tc.want)
			}
			if after := w.count("runs", "1=1") + w.count("messages", "1=1") + w.count("model_calls", "1=1"); after != before {
				t.Errorf("%d rows more", after-before)
			}
			if w.count("idempotency_keys", "idem_key = ?", tc.name) != 0 {
				t.Error("the key of a refused request was kept")
			}
		})
	}
}

func TestRegeneratingAnswersTheQuestionAgainOnABranchOfItsOwn(t *testing.T) {
	for name, of := range map[string]func(schema.Run) string{
		"of an answer":   func(r schema.Run) string { return r.MessageID },
		"of its message": func(r schema.Run) string { return r.UserMessageID },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			first := w.ask("ann")
			w.finish(first)
			again := w.start(Request{UserID: "ann", ConversationID: first.Run.ConversationID, RegenerateOf: of(first.Run), Free: true})
			if again.Run.UserMessageID != first.Run.UserMessageID || again.Run.MessageID == first.Run.MessageID {
				t.Errorf("run = %+v", again.Run)
			}
			w.finish(again)
			c, _ := w.conversations.Get(ctx, "ann", first.Run.ConversationID)
			branch, err := w.conversations.Branch(ctx, c.ID, c.ActiveLeaf)
			if err != nil || len(branch) != 2 || branch[0].ID != first.Run.UserMessageID || branch[1].ID != again.Run.MessageID {
				t.Errorf("branch = %+v, %v", branch, err)
			}
		})
	}
}

func TestAnIdempotencyKeyAttachesForADay(t *testing.T) {
	w := newWorld(t)
	c := w.conversation("ann")
	req := Request{UserID: "ann", ConversationID: c, Content: "hello", Free: true, Key: idempotency.Key{Route: "messages", Key: "k", BodySHA256: "one"}}
	first := w.start(req)

	again := w.start(req)
	if !again.Attached || again.Run.ID != first.Run.ID {
		t.Errorf("the same request made %+v", again.Run)
	}
	w.finish(first)
	if again = w.start(req); !again.Attached || again.Run.Status != schema.RunCompleted {
		t.Errorf("the same request after the end made %+v", again.Run)
	}
	other := req
	other.Key.BodySHA256 = "two"
	if _, err := w.Start(ctx, other, alice, limits); !errors.Is(err, idempotency.ErrReused) {
		t.Errorf("another body: %v, want ErrReused", err)
	}
	foreign := req
	foreign.UserID, foreign.ConversationID = "ben", w.conversation("ben")
	if st := w.start(foreign); st.Attached {
		t.Error("the key of one user attached another")
	}
	w.advance(idempotency.Life + time.Second)
	if again = w.start(req); again.Attached || again.Run.ID == first.Run.ID {
		t.Error("the key attached after its time")
	}
}

func TestTitlesAreOneShortLineOfTheQuestion(t *testing.T) {
	for in, want := range map[string]string{
		"  two\nlines ":         "two lines",
		strings.Repeat("é", 60): strings.Repeat("é", 60),
		strings.Repeat("é", 61): strings.Repeat("é", 59) + "…",
	} {
		if got := titleOf(in); got != want {
			t.Errorf("titleOf(%q) = %q, want %q", in, got, want)
		}
	}
}
