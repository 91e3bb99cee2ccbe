package crawl

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errUnavailable = status.Error(codes.Unavailable, "gone")

// stream is one stream of the server: its events, then its end. A nil end stays
// open until the caller leaves.
type stream struct {
	grpc.ServerStreamingClient[pb.CrawlEvent]
	ctx    context.Context
	server *server
	events []*pb.CrawlEvent
	end    error
}

func (s *stream) Recv() (*pb.CrawlEvent, error) {
	if len(s.events) > 0 {
		ev := s.events[0]
		s.events = s.events[1:]
		if p := ev.GetPage(); p != nil {
			s.server.results = max(s.server.results, int(p.GetResultSeq()))
		}
		return ev, nil
	}
	if s.end != nil {
		return nil, s.end
	}
	<-s.ctx.Done()
	return nil, s.ctx.Err()
}

// server plays one stream after the other, has a result for each page event that
// it sent, and notes what it was asked.
type server struct {
	pb.CrawlTaskServiceClient
	streams []stream
	after   []int32
	results int
	reads   int
	// pageSize is how many results one answer has.
	pageSize int
	readErr  []error
	// away is how often making a task fails; keys are those that it was asked with.
	away int
	keys []string
}

func (s *server) CreateCrawlTask(ctx context.Context, _ *pb.CreateCrawlTaskRequest, _ ...grpc.CallOption) (*pb.CreateCrawlTaskResponse, error) {
	md, _ := metadata.FromOutgoingContext(ctx)
	s.keys = append(s.keys, md.Get(idempotencyKey)...)
	if len(s.keys) <= s.away {
		return nil, errUnavailable
	}
	return &pb.CreateCrawlTaskResponse{TaskId: "task_1"}, nil
}

func (s *server) WatchCrawlTask(ctx context.Context, req *pb.WatchCrawlTaskRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[pb.CrawlEvent], error) {
	s.after = append(s.after, req.GetAfterSeq())
	if len(s.streams) == 0 {
		return nil, errUnavailable
	}
	next := s.streams[0]
	s.streams = s.streams[1:]
	next.ctx, next.server = ctx, s
	return &next, nil
}

func (s *server) ListCrawlResults(_ context.Context, req *pb.ListCrawlResultsRequest, _ ...grpc.CallOption) (*pb.ListCrawlResultsResponse, error) {
	s.reads++
	if len(s.readErr) > 0 {
		err := s.readErr[0]
		s.readErr = s.readErr[1:]
		return nil, err
	}
	from, _ := strconv.Atoi(req.GetCursor())
	to := min(s.results, from+s.pageSize)
	res := &pb.ListCrawlResultsResponse{HasMore: to < s.results}
	for seq := from + 1; seq <= to; seq++ {
		res.Items = append(res.Items, &pb.CrawlResult{Seq: int32(seq)})
	}
	if res.HasMore {
		res.NextCursor = strconv.Itoa(to)
	}
	return res, nil
}

func page(seq, result int32) *pb.CrawlEvent {
	return &pb.CrawlEvent{Seq: seq, Event: &pb.CrawlEvent_Page{Page: &pb.CrawlPageDone{Ok: true, ResultSeq: result}}}
}

func progress() *pb.CrawlEvent {
	return &pb.CrawlEvent{Event: &pb.CrawlEvent_Progress{Progress: &pb.CrawlProgress{}}}
}

func done(seq int32) *pb.CrawlEvent {
	return &pb.CrawlEvent{Seq: seq, Event: &pb.CrawlEvent_Done{Done: &pb.CrawlDone{Status: "completed", Outcome: "ok"}}}
}

func bye() *pb.CrawlEvent {
	return &pb.CrawlEvent{Event: &pb.CrawlEvent_Bye{Bye: &pb.CrawlBye{Reason: "drain", Resume: true}}}
}

func TestATaskIsFollowedThroughBreaks(t *testing.T) {
	for _, tc := range []struct {
		name    string
		streams []stream
		readErr []error
		after   []int32
		seen    []int32
		results []int32
		notes   int
	}{
		{
			name:    "one stream to the end",
			streams: []stream{{events: []*pb.CrawlEvent{progress(), page(1, 1), page(2, 2), page(3, 3), done(4)}}},
			after:   []int32{0}, seen: []int32{0, 1, 2, 3, 4}, results: []int32{1, 2, 3},
		},
		{
			name: "a stream that breaks goes on where it was, and events sent again are not new",
			streams: []stream{
				{events: []*pb.CrawlEvent{progress(), page(1, 1)}, end: errUnavailable},
				{events: []*pb.CrawlEvent{progress(), page(1, 1), page(2, 2), done(3)}},
			},
			after: []int32{0, 1}, seen: []int32{0, 1, 0, 2, 3}, results: []int32{1, 2}, notes: 1,
		},
		{
			name: "a server that says goodbye is asked again without a word",
			streams: []stream{
				{events: []*pb.CrawlEvent{page(1, 1), bye()}},
				{events: []*pb.CrawlEvent{page(2, 2), done(3)}},
			},
			after: []int32{0, 1}, seen: []int32{1, 2, 3}, results: []int32{1, 2},
		},
		{
			name:    "results that cannot be read after the end are asked for again, the task is not",
			streams: []stream{{events: []*pb.CrawlEvent{done(1)}}},
			readErr: []error{errUnavailable, errUnavailable},
			after:   []int32{0}, seen: []int32{1}, notes: 1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{streams: tc.streams, pageSize: 2, readErr: tc.readErr}
				var seen, results []int32
				notes := 0
				f := Follower{
					Tasks: s, TaskID: "task_1",
					Seen:    func(ev *pb.CrawlEvent) { seen = append(seen, ev.GetSeq()) },
					Results: func(r *pb.CrawlResult) error { results = append(results, r.GetSeq()); return nil },
					Note:    func(string) { notes++ },
				}
				got, err := f.Follow(t.Context())
				if err != nil || got.GetOutcome() != "ok" {
					t.Fatalf("%v, %v", got, err)
				}
				if !slices.Equal(s.after, tc.after) || !slices.Equal(seen, tc.seen) || !slices.Equal(results, tc.results) || notes != tc.notes {
					t.Errorf("asked after %v, saw %v, results %v, %d notes", s.after, seen, results, notes)
				}
			})
		})
	}
}

func TestResultsAreNotReadWithEveryPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []*pb.CrawlEvent
		for i := range int32(40) {
			events = append(events, page(i+1, i+1))
		}
		s := &server{streams: []stream{{events: append(events, done(41))}}, pageSize: pageSize}
		n := 0
		f := Follower{Tasks: s, Results: func(*pb.CrawlResult) error { n++; return nil }}
		if _, err := f.Follow(t.Context()); err != nil || n != 40 {
			t.Fatalf("%d results, %v", n, err)
		}
		if s.reads != 2 { // with the first page and at the end
			t.Errorf("results were read %d times", s.reads)
		}
	})
}

func TestAServerThatStaysAwayIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := Follower{Tasks: &server{}, Note: func(string) {}}
		_, err := f.Follow(t.Context())
		if took := time.Since(began); !errors.Is(err, ErrLost) || took < 20*time.Second || took > time.Minute {
			t.Errorf("%v after %s", err, took)
		}
	})
}

func TestATaskIsMadeOnceHoweverOftenThatIsAsked(t *testing.T) {
	for _, tc := range []struct {
		name    string
		away    int
		patient bool
		asked   int
		made    bool
	}{
		{"a server that is there", 0, false, 1, true},
		{"one that is away for the first task", 1, false, 1, false},
		{"one that comes back", 3, true, 4, true},
		{"one that stays away", 1000, true, maxFailures + 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{away: tc.away}
				made, err := Create(t.Context(), s, &pb.CreateCrawlTaskRequest{}, tc.patient, func(string) {})
				if (err == nil) != tc.made || tc.made && made.GetTaskId() != "task_1" {
					t.Errorf("%v, %v", made, err)
				}
				if keys := slices.Compact(slices.Clone(s.keys)); len(s.keys) != tc.asked || len(keys) != 1 {
					t.Errorf("asked %d times with %d keys", len(s.keys), len(keys))
				}
			})
		})
	}
}

func TestWhatEndsFollowing(t *testing.T) {
	notFound := status.Error(codes.NotFound, "no such task")
	full := errors.New("no space left")
	t.Run("a refusal", func(t *testing.T) {
		s := &server{streams: []stream{{end: notFound}}}
		if _, err := (&Follower{Tasks: s}).Follow(t.Context()); !errors.Is(err, notFound) {
			t.Error(err)
		}
	})
	t.Run("a result that cannot be written", func(t *testing.T) {
		s := &server{streams: []stream{{events: []*pb.CrawlEvent{page(1, 1)}, end: io.EOF}}, pageSize: 1}
		f := Follower{Tasks: s, Results: func(*pb.CrawlResult) error { return full }}
		if _, err := f.Follow(t.Context()); !errors.Is(err, full) {
			t.Error(err)
		}
	})
	t.Run("the caller", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			s := &server{streams: []stream{{events: []*pb.CrawlEvent{progress()}}}}
			if _, err := (&Follower{Tasks: s}).Follow(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	})
}
