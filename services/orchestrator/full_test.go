package orchestrator

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

// pages bounds the database, as a disk with that much room; 0 takes what it has.
func (w *world) pages(most int) {
	w.t.Helper()
	err := w.svc.db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
		if most == 0 {
			if err := tx.NewRaw("PRAGMA page_count").Scan(ctx, &most); err != nil {
				return err
			}
		}
		return tx.NewRaw("PRAGMA max_page_count = "+strconv.Itoa(most)).Scan(ctx, &most)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestWhoWaitsForAnAnswerIsToldThatTheDiskIsFull(t *testing.T) {
	long := strings.Repeat("Long. ", 40_000)
	w := newWorld(t, `
model: scripted-long
chunk: 100000
turns:
  - replies:
      - steps:
          - text: "Well. "
          - delay_ms: 200
          - text: "`+long+`"
`)
	conversation := w.conversation()
	ctx := w.as("ann", "idempotency-key", "one")
	stream, err := w.Conversations.StreamMessage(ctx, &pb.StreamMessageRequest{ConversationId: conversation, Content: "tell"})
	if err != nil {
		t.Fatal(err)
	}
	started, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	w.pages(0)
	runID := started.GetRunStarted().GetRunId()
	ask := func() (*pb.SendMessageResponse, error) {
		return w.Conversations.SendMessage(ctx, &pb.SendMessageRequest{ConversationId: conversation, Content: "tell"})
	}
	for range 2 { // whoever asks again is told again
		_, err := ask()
		refused(t, err, codes.Unavailable, "STORAGE_FULL")
		if !strings.Contains(status.Convert(err).Message(), "disk is full: free some space") || meta(err, "run_id") != runID {
			t.Errorf("%v, run %s", err, meta(err, "run_id"))
		}
	}
	w.pages(1 << 20)
	events := drain(t, stream)
	if last := events[len(events)-1].GetDone(); last.GetFinishReason() != "stop" {
		t.Errorf("the last event is %v", events[len(events)-1])
	}
	res, err := ask()
	if err != nil || res.Message.Content != "Well. "+long || res.Message.Usage.ModelCalls != 1 {
		t.Errorf("the answer has %d characters, %v, %v", len(res.GetMessage().GetContent()), res.GetMessage().GetUsage(), err)
	}
}
