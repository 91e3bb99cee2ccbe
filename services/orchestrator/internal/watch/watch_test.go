package watch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/conversation"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/live"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func TestMain(m *testing.M) {
	// database/sql ends this goroutine a moment after Close.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

var ctx = context.Background()

// world is an owner of one run, and a watcher.
type world struct {
	*Watcher
	t        testing.TB
	st       run.Started
	lease    run.Lease
	live     *live.Run
	draining chan struct{}
}

var limits = run.Limits{RunningPerUser: 4, QueuedPerUser: 4}

// newWorld has a run; queued says that nobody owns it yet.
func newWorld(t testing.TB, queued bool) *world {
	t.Helper()
	db, err := store.Open(ctx, store.Config{Service: "orchestrator", Path: filepath.Join(t.TempDir(), "o.db"), Migrations: schema.Migrations()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, draining: make(chan struct{})}
	w.Watcher = &Watcher{Runs: &run.Store{DB: db, Now: time.Now}, Hub: &live.Hub{}, Draining: w.draining}
	c, err := (&conversation.Store{DB: db, Now: time.Now}).Create(ctx, "ann", "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	w.st, err = w.Runs.Start(ctx, run.Request{UserID: "ann", ConversationID: c.ID, Content: "hi", Free: !queued}, run.Owner{ID: "own"}, limits)
	if err != nil {
		t.Fatal(err)
	}
	w.lease = w.st.Lease
	if !queued {
		w.live = w.Hub.Open(w.id(), 0)
		w.live.Publish(w.st.Events)
	}
	return w
}

func (w *world) id() string { return w.st.Run.ID }

// claim takes the run over and opens it.
func (w *world) claim() {
	w.t.Helper()
	r, l, err := w.Runs.Claim(ctx, w.id(), run.Owner{ID: "other"}, limits)
	if err != nil {
		w.t.Fatal(err)
	}
	w.lease, w.live = l, w.Hub.Open(r.ID, r.LastSeq)
}

// commit logs events as an owner does.
func (w *world) commit(events ...*pb.RunEvent) {
	w.t.Helper()
	if err := w.Runs.Commit(ctx, w.lease, nil, events...); err != nil {
		w.t.Fatal(err)
	}
	w.live.Publish(events)
}

// end finishes the run.
func (w *world) end() {
	w.t.Helper()
	events, err := w.Runs.Finish(ctx, w.lease, w.st.Run, run.End{Status: schema.RunCompleted, FinishReason: "stop", Usage: &pb.Usage{}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.live.Publish(events)
	w.Hub.Close(w.live)
}

func note() *pb.RunEvent {
	return &pb.RunEvent{Event: &pb.RunEvent_Notice{Notice: &pb.Notice{Kind: "retry"}}}
}

// round writes a round of text live and logs it.
func (w *world) round(n int, text string) {
	w.live.Write(n, text)
	w.commit(said(n, text), &pb.RunEvent{Event: &pb.RunEvent_Usage{Usage: &pb.RoundUsage{Round: int32(n)}}})
}

func said(n int, text string) *pb.RunEvent {
	return &pb.RunEvent{Event: &pb.RunEvent_Message{Message: &pb.TextPiece{Content: text, Round: int32(n)}}}
}

// stream is a watch that goes on while the test does.
type stream struct {
	t      testing.TB
	events chan *pb.RunEvent
	err    chan error
	cancel context.CancelFunc
}

func (w *world) watch(after int) *stream {
	s := &stream{t: w.t, events: make(chan *pb.RunEvent), err: make(chan error, 1)}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	w.t.Cleanup(s.cancel)
	go func() {
		s.err <- w.Watch(ctx, "ann", w.id(), after, func(e *pb.RunEvent) error {
			select {
			case s.events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		close(s.events)
	}()
	return s
}

// want reads events, told as "1 run_started" or, when they are live, "message".
func (s *stream) want(want ...string) {
	s.t.Helper()
	for _, w := range want {
		e, ok := <-s.events
		if !ok {
			s.t.Fatalf("the stream ended, want %s", w)
		}
		if got := tell(e); got != w {
			s.t.Fatalf("got %s, want %s", got, w)
		}
	}
}

// ends reads the end of the stream.
func (s *stream) ends(want error) {
	s.t.Helper()
	for e := range s.events {
		s.t.Errorf("event %s, want the end", tell(e))
	}
	if err := <-s.err; !errors.Is(err, want) {
		s.t.Errorf("err = %v, want %v", err, want)
	}
}

func tell(e *pb.RunEvent) string {
	if e.Seq > 0 {
		return fmt.Sprintf("%d %s", e.Seq, run.TypeOf(e))
	}
	return run.TypeOf(e)
}

func TestAWatchBeginsWhereItIsToldTo(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after int
		want  []string
	}{
		{"from the beginning", 0, []string{"1 run_started", "2 notice", "3 notice", "message", "4 notice"}},
		{"from the middle", 2, []string{"3 notice", "message", "4 notice"}},
		{"from the end", 3, []string{"ping", "message", "4 notice"}},
	} {
		for _, where := range []string{"in the owner", "in SQL"} {
			t.Run(tc.name+" "+where, func(t *testing.T) {
				w := newWorld(t, false)
				w.commit(note(), note())
				if where == "in SQL" { // the tail of a new owner is empty
					w.live = w.Hub.Open(w.id(), 3)
				}
				w.live.Write(1, "text")
				s := w.watch(tc.after)
				s.want(tc.want[:len(tc.want)-1]...)
				w.commit(note())
				s.want(tc.want[len(tc.want)-1])
				w.live.Publish([]*pb.RunEvent{})
				w.end()
				s.want("5 done")
				s.ends(nil)
			})
		}
	}
}

func TestAnEndedRunIsReplayedAndTheStreamEnds(t *testing.T) {
	w := newWorld(t, false)
	w.round(1, "text")
	w.end()
	s := w.watch(0)
	s.want("1 run_started", "2 message", "3 usage", "4 done")
	s.ends(nil)
	s = w.watch(4)
	s.want("ping")
	s.ends(nil)
}

func TestAnEventThatTheRunNeverHadIsNotGoneOnFrom(t *testing.T) {
	w := newWorld(t, false)
	ahead := func(after, last int) {
		t.Helper()
		err := w.Watch(t.Context(), "ann", w.id(), after, func(e *pb.RunEvent) error { return fmt.Errorf("got %s", tell(e)) })
		if e, ok := errors.AsType[*AheadError](err); !ok || e.LastSeq != last {
			t.Errorf("after %d: %v, want the last event to be %d", after, err, last)
		}
	}
	ahead(2, 1) // the run lives
	ahead(1<<30, 1)
	w.end()
	ahead(3, 2)
}

func TestALongLogIsReadInPages(t *testing.T) {
	w := newWorld(t, false)
	const n = 2*pageEvents + 100
	for range n / 50 {
		events := make([]*pb.RunEvent, 50)
		for i := range events {
			events[i] = note()
		}
		w.commit(events...)
	}
	s := w.watch(0)
	s.want("1 run_started")
	for i := range n {
		s.want(fmt.Sprintf("%d notice", i+2))
	}
	w.end()
	s.want(fmt.Sprintf("%d done", n+2))
	s.ends(nil)
}

func TestAQueuedRunIsFollowedFromTheMomentItIsClaimed(t *testing.T) {
	w := newWorld(t, true)
	s := w.watch(0)
	s.want("1 run_started")
	w.claim()
	w.live.Write(1, "text")
	s.want("message")
	w.end()
	s.want("2 done")
	s.ends(nil)
}

func TestAQueuedRunThatIsCancelledEndsItsWatch(t *testing.T) {
	w := newWorld(t, true)
	s := w.watch(0)
	s.want("1 run_started")
	if _, err := w.Runs.RequestCancel(ctx, "ann", w.id(), run.Owner{ID: "own"}); err != nil {
		t.Fatal(err)
	}
	s.want("2 done")
	s.ends(nil)
}

func TestWhenItsOwnerLetsTheRunGoTheWatchGoesOnFromSQL(t *testing.T) {
	w := newWorld(t, false)
	s := w.watch(0)
	s.want("1 run_started")
	w.live.Write(1, "lost")
	s.want("message")
	w.Hub.Close(w.live) // owned elsewhere from now on
	elsewhere := w.lease
	if err := w.Runs.Commit(ctx, elsewhere, nil, note(), note()); err != nil {
		t.Fatal(err)
	}
	s.want("2 notice", "3 notice")
	// And comes back here.
	w.live = w.Hub.Open(w.id(), 3)
	w.live.Write(1, "new")
	s.want("message")
	w.end()
	s.want("4 done")
	s.ends(nil)
}

func TestDrainingSaysByeOnce(t *testing.T) {
	for name, queued := range map[string]bool{"a run of this process": false, "a run of nobody": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, queued)
			s := w.watch(0)
			s.want("1 run_started")
			close(w.draining)
			e := <-s.events
			if b := e.GetBye(); b == nil || !b.Resume || b.Reason != "drain" {
				t.Errorf("event = %v", e)
			}
			s.ends(nil)
		})
	}
}

func TestDrainingEndsAWatchThatNeverRunsDry(t *testing.T) {
	w := newWorld(t, false)
	close(w.draining)
	pieces := 0
	err := w.Watch(ctx, "ann", w.id(), 0, func(e *pb.RunEvent) error {
		if e.GetMessage() != nil {
			pieces++
		}
		w.live.Write(1, "more") // there is something new after every send
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pieces > 1000 {
		t.Errorf("%d pieces were sent before the bye", pieces)
	}
}

func TestAWatchEndsWithItsCaller(t *testing.T) {
	for name, queued := range map[string]bool{"while it follows": false, "while it polls": true} {
		t.Run(name, func(t *testing.T) {
			s := newWorld(t, queued).watch(0)
			s.want("1 run_started")
			s.cancel()
			s.ends(context.Canceled)
		})
	}
	t.Run("when sending fails", func(t *testing.T) {
		broken := errors.New("connection lost")
		w := newWorld(t, false)
		if err := w.Watch(ctx, "ann", w.id(), 0, func(*pb.RunEvent) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestARunThatIsNotTheReadersIsNotFound(t *testing.T) {
	w := newWorld(t, false)
	send := func(*pb.RunEvent) error { t.Error("something was sent"); return nil }
	if err := w.Watch(ctx, "ben", w.id(), 0, send); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("err = %v", err)
	}
	if err := w.Watch(ctx, "ann", "run_x", 0, send); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("err = %v", err)
	}
}

func TestARunThatIsDeletedEndsItsWatches(t *testing.T) {
	for name, behind := range map[string]bool{"a reader that is up to date": false, "a reader whose place is only in the log": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			w.commit(note())
			conversations := &conversation.Store{DB: w.Runs.DB, Now: time.Now}
			if behind {
				w.live = w.Hub.Open(w.id(), 2)
				if err := conversations.Delete(ctx, "ann", w.st.Run.ConversationID); err != nil {
					t.Fatal(err)
				}
				err := w.Follow(ctx, "ann", w.id(), 0, func(*pb.RunEvent) error { return nil })
				if !errors.Is(err, run.ErrNotFound) {
					t.Errorf("err = %v", err)
				}
				return
			}
			s := w.watch(0)
			s.want("1 run_started", "2 notice")
			if err := conversations.Delete(ctx, "ann", w.st.Run.ConversationID); err != nil {
				t.Fatal(err)
			}
			w.Hub.Close(w.live) // its owner was fenced
			s.ends(run.ErrNotFound)
		})
	}
}

// A reader that is cut at any places and comes again by its last number has in
// the end what a reader has that was never cut.
func TestTwentyCutsLeaveTheTextAndTheEventsWhole(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, false)
	const rounds = 4
	want := map[int32]string{}
	for n := int32(1); n <= rounds; n++ {
		for range 90 {
			want[n] += []string{"a ", "über ", "日本 ", "😀"}[rng.IntN(4)]
		}
	}

	var cuts sync.WaitGroup
	reading := make(chan struct{}, 1) // lets the owner go on piece by piece
	cuts.Go(func() {
		defer close(reading)
		got := map[int32]string{}
		seen := map[int32]bool{}
		last, ended, cutsLeft := int32(0), false, 20
		cut := errors.New("cut")
		for !ended {
			left := rng.IntN(12)
			err := w.Watch(ctx, "ann", w.id(), int(last), func(e *pb.RunEvent) error {
				if cutsLeft > 0 {
					if left--; left < 0 {
						cutsLeft--
						return cut
					}
				}
				if e.Seq > 0 {
					if e.Seq <= last {
						t.Errorf("event %d came again after %d", e.Seq, last)
					}
					last, seen[e.Seq] = e.Seq, true
				}
				if m := e.GetMessage(); m != nil {
					if int(m.Offset) > len(got[m.Round]) {
						t.Errorf("gap in round %d: %d bytes, piece at %d", m.Round, len(got[m.Round]), m.Offset)
						return cut
					}
					got[m.Round] = got[m.Round][:m.Offset] + m.Content
				}
				ended = ended || e.GetDone() != nil
				select {
				case reading <- struct{}{}:
				default:
				}
				return nil
			})
			if err != nil && !errors.Is(err, cut) {
				t.Error(err)
				return
			}
		}
		if cutsLeft > 0 {
			t.Errorf("only %d cuts were made", 20-cutsLeft)
		}
		for n, text := range want {
			if got[n] != text {
				t.Errorf("round %d: %q, want %q", n, got[n], text)
			}
		}
		spared := 0
		for seq := int32(1); seq <= last; seq++ {
			if !seen[seq] {
				spared++
			}
		}
		if spared > rounds { // only logged texts, one a round, may be left out
			t.Errorf("%d logged events were not sent", spared)
		}
	})
	for n := int32(1); n <= rounds; n++ {
		for _, word := range strings.SplitAfter(want[n], " ") {
			if word != "" {
				w.live.Write(int(n), word)
				<-reading
			}
		}
		w.commit(said(int(n), want[n]), &pb.RunEvent{Event: &pb.RunEvent_Usage{Usage: &pb.RoundUsage{Round: n}}})
	}
	w.end()
	for range reading {
	}
	cuts.Wait()
}
