package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// stalling is a script whose model writes a little and falls silent, three
// times; from then on it writes to the end.
const stalling = `
model: scripted-edge
turns:
  - when: {request: 1}
    replies: [{steps: [{text: "The beginning"}, {silence: true}]}]
  - when: {request: 2}
    replies: [{steps: [{text: "The beginning"}, {silence: true}]}]
  - when: {request: 3}
    replies: [{steps: [{text: "The beginning"}, {silence: true}]}]
  - replies: [{steps: [{text: "The beginning, and the end."}]}]
`

const whole = "The beginning, and the end."

// reader follows a run as the contract tells readers to: it keeps text[:offset]
// + content, drops a round that is restarted, and remembers the last id.
type reader struct {
	runID string
	text  string
	seq   int32
	bye   *orchestratorv1.Bye
	done  *orchestratorv1.Done
}

func (r *reader) take(e *orchestratorv1.RunEvent) {
	if e.Seq > 0 {
		r.seq = e.Seq
	}
	switch v := e.Event.(type) {
	case *orchestratorv1.RunEvent_RunStarted:
		r.runID = v.RunStarted.RunId
	case *orchestratorv1.RunEvent_Message:
		r.text = r.text[:v.Message.Offset] + v.Message.Content
	case *orchestratorv1.RunEvent_RoundRestarted:
		r.text = ""
	case *orchestratorv1.RunEvent_Bye:
		r.bye = v.Bye
	case *orchestratorv1.RunEvent_Done:
		r.done = v.Done
	}
}

// grpcStream reads a stream to its end. read is called after each event.
func (r *reader) grpcStream(stream grpc.ServerStreamingClient[orchestratorv1.RunEvent], read func()) error {
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r.take(e)
		read()
	}
}

// sseStream is the same over SSE.
func (r *reader) sseStream(c *world.Client, ctx context.Context, method, path string, body any, read func(), headers ...string) error {
	res, err := c.Do(ctx, method, path, body, headers...)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %d", method, path, res.StatusCode)
	}
	world.Events(res.Body, func(e world.Event) bool {
		if e.ID != "" {
			if _, err := fmt.Sscan(e.ID, &r.seq); err != nil {
				panic("an id that is no number: " + e.ID)
			}
		}
		switch e.Name {
		case "run_started":
			r.runID = e.Data["run_id"].(string)
		case "message":
			r.text = r.text[:int(e.Data["offset"].(float64))] + e.Data["content"].(string)
		case "round_restarted":
			r.text = ""
		case "bye":
			r.bye = &orchestratorv1.Bye{Reason: e.Data["reason"].(string), Resume: e.Data["resume"].(bool)}
		case "done":
			r.done = &orchestratorv1.Done{FinishReason: e.Data["finish_reason"].(string)}
		}
		read()
		return true
	})
	return nil
}

// begun closes once the beginning of the text was read.
func (r *reader) begun() (read func(), begun <-chan struct{}) {
	seen := make(chan struct{})
	var once sync.Once
	return func() {
		if strings.HasPrefix(r.text, "The beginning") {
			once.Do(func() { close(seen) })
		}
	}, seen
}

func TestADrainSendsEveryReaderAwayAndTheRunsGoOnAfterwards(t *testing.T) {
	w := world.New(t, stalling)
	s := w.Start(t)
	c := world.ClientOf(s)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	conn := dial(t, s.GRPCAddr())
	ctx := as(deadline(t), c.Token)

	// One question over SSE, one over gRPC, one that waits for its answer, and a
	// second reader of each kind.
	readers := map[string]*reader{"SSE": {}, "gRPC": {}, "a watcher over SSE": {}, "a watcher over gRPC": {}}
	ended := map[string]chan error{}
	follow := func(name string, run func(r *reader, read func()) error) {
		t.Helper()
		r := readers[name]
		read, begun := r.begun()
		end := make(chan error, 1)
		ended[name] = end
		go func() { end <- run(r, read) }()
		select {
		case <-begun:
		case err := <-end:
			t.Fatalf("%s ended with %v before the beginning was read: %+v", name, err, r)
		case <-ctx.Done():
			t.Fatalf("%s did not read the beginning: %q", name, r.text)
		}
	}
	conversations := []string{c.Conversation(t), c.Conversation(t), c.Conversation(t)}
	follow("SSE", func(r *reader, read func()) error {
		return r.sseStream(c, ctx, "POST", "/api/conversations/"+conversations[0]+"/messages", map[string]any{"content": "Tell me"}, read)
	})
	follow("gRPC", func(r *reader, read func()) error {
		stream, err := orchestratorv1.NewConversationServiceClient(conn).StreamMessage(ctx, &orchestratorv1.StreamMessageRequest{ConversationId: conversations[1], Content: "Tell me"})
		if err != nil {
			return err
		}
		return r.grpcStream(stream, read)
	})
	waiting := make(chan error, 1)
	go func() {
		_, err := orchestratorv1.NewConversationServiceClient(conn).SendMessage(ctx, &orchestratorv1.SendMessageRequest{ConversationId: conversations[2], Content: "Tell me"})
		waiting <- err
	}()
	readers["a watcher over SSE"].runID, readers["a watcher over gRPC"].runID = liveRun(t, c, conversations[1]), liveRun(t, c, conversations[2])
	follow("a watcher over SSE", func(r *reader, read func()) error {
		return r.sseStream(c, ctx, "GET", "/api/runs/"+r.runID+"/events", nil, read)
	})
	follow("a watcher over gRPC", func(r *reader, read func()) error {
		stream, err := orchestratorv1.NewRunServiceClient(conn).WatchRun(ctx, &orchestratorv1.WatchRunRequest{RunId: r.runID})
		if err != nil {
			return err
		}
		return r.grpcStream(stream, read)
	})

	stop(t, s)
	for _, name := range sorted(readers) {
		if err := <-ended[name]; err != nil {
			t.Errorf("%s ended with %v", name, err)
		}
		r := readers[name]
		if r.bye.GetReason() != "drain" || !r.bye.GetResume() || r.done != nil {
			t.Errorf("%s was sent away with %v, done %v", name, r.bye, r.done)
		}
	}
	err := <-waiting
	requireStatus(t, err, codes.Unavailable, "DRAINING")
	if _, ok := rpcerr.RetryDelay(err); !ok || infoOf(err).GetMetadata()["run_id"] != readers["a watcher over gRPC"].runID {
		t.Errorf("who waited for an answer cannot find it again: %v", infoOf(err))
	}

	// The next process goes on, and every reader where it was.
	s = w.Start(t)
	c = world.ClientOf(s)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	conn = dial(t, s.GRPCAddr())
	ctx = as(deadline(t), c.Token)
	for _, name := range sorted(readers) {
		r := readers[name]
		r.bye = nil
		var err error
		if strings.Contains(name, "SSE") {
			err = r.sseStream(c, ctx, "GET", "/api/runs/"+r.runID+"/events", nil, func() {}, "Last-Event-ID", fmt.Sprint(r.seq))
		} else {
			var stream grpc.ServerStreamingClient[orchestratorv1.RunEvent]
			if stream, err = orchestratorv1.NewRunServiceClient(conn).WatchRun(ctx, &orchestratorv1.WatchRunRequest{RunId: r.runID, AfterSeq: r.seq}); err == nil {
				err = r.grpcStream(stream, func() {})
			}
		}
		if err != nil || r.done.GetFinishReason() != "stop" || r.text != whole {
			t.Errorf("%s read %q in the end (done %v, bye %v): %v", name, r.text, r.done, r.bye, err)
		}
	}
	for _, id := range conversations {
		list := c.Data(t, "GET", "/api/conversations/"+id+"/messages", nil)["items"].([]any)
		if len(list) != 2 || list[1].(map[string]any)["content"] != whole || list[1].(map[string]any)["status"] != "completed" {
			t.Errorf("stored: %v", list)
		}
	}
}

// liveRun waits for the run of a conversation.
func liveRun(t *testing.T, c *world.Client, conversation string) string {
	t.Helper()
	ctx := deadline(t)
	for ctx.Err() == nil {
		if live, ok := c.Data(t, "GET", "/api/conversations/"+conversation, nil)["live_run"].(map[string]any); ok {
			return live["id"].(string)
		}
	}
	t.Fatal("no run began")
	return ""
}
