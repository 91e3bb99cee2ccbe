package follow

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errUnavailable = status.Error(codes.Unavailable, "gone")

// stream is one stream of the server: its events, then its end. A nil end stays
// open until the caller leaves.
type stream struct {
	grpc.ServerStreamingClient[pb.RunEvent]
	ctx    context.Context
	events []*pb.RunEvent
	end    error
}

func (s *stream) Recv() (*pb.RunEvent, error) {
	if len(s.events) > 0 {
		ev := s.events[0]
		s.events = s.events[1:]
		return ev, nil
	}
	if s.end != nil {
		return nil, s.end
	}
	<-s.ctx.Done()
	return nil, s.ctx.Err()
}

// server plays one stream after the other and notes what it was asked.
type server struct {
	pb.ConversationServiceClient
	pb.RunServiceClient
	streams []stream
	keys    []string
	after   []int32
	cancels chan string
}

func (s *server) next(ctx context.Context) (grpc.ServerStreamingClient[pb.RunEvent], error) {
	if len(s.streams) == 0 {
		return nil, errUnavailable
	}
	next := s.streams[0]
	s.streams = s.streams[1:]
	next.ctx = ctx
	return &next, nil
}

func (s *server) StreamMessage(ctx context.Context, _ *pb.StreamMessageRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[pb.RunEvent], error) {
	md, _ := metadata.FromOutgoingContext(ctx)
	s.keys = append(s.keys, md.Get(idempotencyKey)...)
	return s.next(ctx)
}

func (s *server) WatchRun(ctx context.Context, req *pb.WatchRunRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[pb.RunEvent], error) {
	s.after = append(s.after, req.GetAfterSeq())
	return s.next(ctx)
}

func (s *server) CancelRun(_ context.Context, req *pb.CancelRunRequest, _ ...grpc.CallOption) (*pb.CancelRunResponse, error) {
	s.cancels <- req.GetRunId()
	return &pb.CancelRunResponse{}, nil
}

func started() *pb.RunEvent {
	return &pb.RunEvent{Seq: 1, Event: &pb.RunEvent_RunStarted{RunStarted: &pb.RunStarted{RunId: "run_1"}}}
}

func text(seq int32, offset int, content string) *pb.RunEvent {
	return &pb.RunEvent{Seq: seq, Event: &pb.RunEvent_Message{Message: &pb.TextPiece{Round: 1, Offset: int32(offset), Content: content}}}
}

func done(seq int32, reason string) *pb.RunEvent {
	return &pb.RunEvent{Seq: seq, Event: &pb.RunEvent_Done{Done: &pb.Done{FinishReason: reason}}}
}

func bye() *pb.RunEvent {
	return &pb.RunEvent{Event: &pb.RunEvent_Bye{Bye: &pb.Bye{Reason: "drain", Resume: true}}}
}

// followed is what a follower saw and said.
type followed struct {
	*Follower
	seen  []int32
	notes []string
}

func newFollower(s *server) *followed {
	f := &followed{Follower: &Follower{Conversations: s, Runs: s}}
	f.Seen = func(ev *pb.RunEvent, _ *transcript.Transcript) { f.seen = append(f.seen, ev.GetSeq()) }
	f.Note = func(text string) { f.notes = append(f.notes, text) }
	return f
}

func TestARunIsFollowedThroughBreaks(t *testing.T) {
	tests := []struct {
		name    string
		streams []stream
		answer  string
		after   []int32
		asked   int
		notes   int
	}{
		{"nothing breaks", []stream{{events: []*pb.RunEvent{started(), text(0, 0, "Hi"), text(2, 0, "Hi"), done(3, "stop")}}}, "Hi", nil, 1, 0},
		{"a cut before the run is known asks again with the same key", []stream{{end: errUnavailable}, {events: []*pb.RunEvent{started(), text(2, 0, "Hi"), done(3, "stop")}}}, "Hi", nil, 2, 1},
		{"a cut in the text resumes after the last logged event", []stream{
			{events: []*pb.RunEvent{started(), text(0, 0, "He")}, end: errUnavailable},
			{events: []*pb.RunEvent{text(0, 0, "Hello wo"), text(0, 8, "rld"), text(2, 0, "Hello world")}, end: io.EOF},
			{events: []*pb.RunEvent{done(3, "stop")}},
		}, "Hello world", []int32{1, 2}, 1, 2},
		{"events sent again change nothing", []stream{
			{events: []*pb.RunEvent{started(), text(2, 0, "Hi")}, end: io.EOF},
			{events: []*pb.RunEvent{started(), text(2, 0, "Ho"), done(3, "stop")}},
		}, "Hi", []int32{2}, 1, 1},
		{"a server that says bye is found again without a word", []stream{{events: []*pb.RunEvent{started(), bye()}}, {events: []*pb.RunEvent{text(2, 0, "Hi"), done(3, "stop")}}}, "Hi", []int32{1}, 1, 0},
		{"a gap in the text is filled", []stream{{events: []*pb.RunEvent{started(), text(0, 5, "!")}}, {events: []*pb.RunEvent{text(2, 0, "Hello!"), done(3, "stop")}}}, "Hello!", []int32{1}, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{streams: tt.streams}
				f := newFollower(s)
				got, err := f.Ask(t.Context(), &pb.StreamMessageRequest{})
				if err != nil {
					t.Fatal(err)
				}
				if got.Answer() != tt.answer || !got.Ended() {
					t.Errorf("answer %q, want %q", got.Answer(), tt.answer)
				}
				if len(s.keys) != tt.asked || s.keys[0] == "" || s.keys[0] != s.keys[len(s.keys)-1] {
					t.Errorf("keys %q, want %d equal ones", s.keys, tt.asked)
				}
				if len(s.after) != len(tt.after) {
					t.Fatalf("resumed after %v, want %v", s.after, tt.after)
				}
				for i := range s.after {
					if s.after[i] != tt.after[i] {
						t.Errorf("resumed after %v, want %v", s.after, tt.after)
					}
				}
				if len(f.notes) != tt.notes {
					t.Errorf("notes %q, want %d", f.notes, tt.notes)
				}
			})
		})
	}
}

func TestAServerThatStaysAwayIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(&server{streams: []stream{{events: []*pb.RunEvent{started()}, end: io.EOF}}})
		began := time.Now()
		_, err := f.Ask(t.Context(), &pb.StreamMessageRequest{})
		if !errors.Is(err, ErrLost) || !strings.HasSuffix(err.Error(), ": gone") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took < 20*time.Second || took > 40*time.Second {
			t.Errorf("given up after %s", took)
		}
	})
}

func TestARefusalIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{streams: []stream{{end: status.Error(codes.NotFound, "no such conversation")}}}
		_, err := newFollower(s).Ask(t.Context(), &pb.StreamMessageRequest{})
		if status.Code(err) != codes.NotFound || len(s.keys) != 1 {
			t.Errorf("got %v after %d tries", err, len(s.keys))
		}
	})
}

func TestTheFirstInterruptCancelsTheSecondLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{cancels: make(chan string, 1), streams: []stream{{events: []*pb.RunEvent{started()}}}}
		f := newFollower(s)
		interrupts := make(chan struct{})
		f.Interrupts = interrupts
		left := make(chan error, 1)
		go func() {
			_, err := f.Ask(t.Context(), &pb.StreamMessageRequest{})
			left <- err
		}()
		synctest.Wait()
		interrupts <- struct{}{}
		if id := <-s.cancels; id != "run_1" {
			t.Errorf("cancelled %q", id)
		}
		synctest.Wait()
		select {
		case err := <-left:
			t.Fatalf("left at the first interrupt: %v", err)
		default:
		}
		interrupts <- struct{}{}
		if err := <-left; !errors.Is(err, ErrLeft) || !f.Interrupted {
			t.Errorf("got %v", err)
		}
	})
}

func TestAnInterruptBeforeTheRunIsKnownCancelsItWhenItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{cancels: make(chan string, 1), streams: []stream{{end: errUnavailable}, {events: []*pb.RunEvent{started()}}, {}}}
		f := newFollower(s)
		interrupts := make(chan struct{})
		f.Interrupts = interrupts
		ctx, stop := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			_, _ = f.Ask(ctx, &pb.StreamMessageRequest{})
		}()
		interrupts <- struct{}{} // while it waits to try again
		if id := <-s.cancels; id != "run_1" {
			t.Errorf("cancelled %q", id)
		}
		stop()
		<-left
	})
}

func TestTheEndOfTheContextCancelsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{cancels: make(chan string, 1), streams: []stream{{events: []*pb.RunEvent{started(), text(0, 0, "Wait")}}}}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		got, err := newFollower(s).Ask(ctx, &pb.StreamMessageRequest{})
		if !errors.Is(err, context.DeadlineExceeded) || got.Answer() != "Wait" {
			t.Errorf("got %v, %q", err, got.Answer())
		}
		if id := <-s.cancels; id != "run_1" {
			t.Errorf("cancelled %q", id)
		}
	})
}

func TestWatchFollowsFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{streams: []stream{{events: []*pb.RunEvent{started(), text(2, 0, "Hi"), done(3, "stop")}}}}
		f := newFollower(s)
		got, err := f.Watch(t.Context(), "run_1")
		if err != nil || got.Answer() != "Hi" || len(s.keys) != 0 || len(s.after) != 1 || s.after[0] != 0 {
			t.Errorf("%v, %q, keys %v, after %v", err, got.Answer(), s.keys, s.after)
		}
	})
}
