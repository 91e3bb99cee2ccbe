package live

import (
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the property tests; 0: by the clock")

func seeds(t testing.TB) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed=%d", seed)
	return seed
}

// story makes a whole run at random: rounds with text, restarts, results.
type story struct {
	rng   *rand.Rand
	run   *Run
	log   []*pb.RunEvent
	logMu sync.Mutex
	final map[textKey]string
	spare map[int]bool // logged texts, which a reader may be spared
}

func (s *story) publish(events ...*pb.RunEvent) {
	s.logMu.Lock()
	for _, e := range events {
		e.Seq = int32(len(s.log) + 1)
		switch e.Event.(type) {
		case *pb.RunEvent_Thinking, *pb.RunEvent_Message:
			s.spare[int(e.Seq)] = true
		}
		s.log = append(s.log, e)
	}
	s.logMu.Unlock()
	s.run.Publish(events)
}

// after is what SQL has after seq.
func (s *story) after(seq int) []*pb.RunEvent {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	return s.log[seq:]
}

var words = []string{"a", "be ", "über", "日本", "😀", "\n", "longer words ", "x"}

// tell plays the run; step is called between any two moves.
func (s *story) tell(step func()) {
	s.publish(noticed(0))
	now := time.Now()
	rounds := 1 + s.rng.IntN(4)
	for round := 1; round <= rounds; round++ {
		var think, text strings.Builder
		write := func() {
			for range s.rng.IntN(20) {
				w := words[s.rng.IntN(len(words))]
				now = now.Add(time.Duration(s.rng.IntN(60)) * time.Millisecond)
				switch s.rng.IntN(4) {
				case 0:
					think.WriteString(w)
					s.run.Think(round, w)
				case 1, 2:
					text.WriteString(w)
					s.run.Write(round, w)
				default:
					s.run.Args(round, s.rng.IntN(3), "tool", text.String(), now)
				}
				step()
			}
		}
		write()
		for s.rng.IntN(3) == 0 {
			s.publish(noticed(0), restarted(0, round))
			think.Reset()
			text.Reset()
			step()
			write()
		}
		var events []*pb.RunEvent
		if think.Len() > 0 {
			events = append(events, thought(0, round, think.String()))
		}
		if text.Len() > 0 {
			events = append(events, said(0, round, text.String()))
		}
		s.final[textKey{thinking, int32(round)}], s.final[textKey{answer, int32(round)}] = think.String(), text.String()
		s.publish(append(events, spent(0, round))...)
		step()
		for range s.rng.IntN(3) * s.rng.IntN(120) { // now and then more than a tail
			s.run.Progress(&pb.ToolProgress{ToolCallId: words[s.rng.IntN(3)], Done: s.rng.Float64()})
			s.publish(result(0, words[s.rng.IntN(3)]))
			step()
		}
	}
	s.publish(done(0))
}

// take lets a reader take what there is, from the log where it must. It
// reports whether the run was closed.
func (s *story) take(t testing.TB, p *page, rd *Reader) (closed bool) {
	for {
		events, err := rd.Next()
		if errors.Is(err, ErrBehind) {
			p.read(s.after(p.seq)...)
			rd.Skip(p.seq)
			continue
		}
		p.read(events...)
		p.seq = max(p.seq, rd.Seq())
		if err != nil && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		return err != nil
	}
}

// check compares what a reader made of the run with the run.
func (s *story) check(t testing.TB, name string, p *page) {
	t.Helper()
	if !p.ended {
		t.Errorf("%s did not see the end", name)
	}
	for k, want := range s.final {
		if got := p.texts[k]; got != want {
			t.Errorf("%s has %q for text %v, want %q", name, got, k, want)
		}
	}
	for seq := 1; seq <= len(s.log); seq++ {
		if !p.seen[seq] && !s.spare[seq] {
			t.Errorf("%s missed event %d of %d", name, seq, len(s.log))
		}
	}
}

func newStory(rng *rand.Rand, h *Hub) *story {
	return &story{rng: rng, run: h.Open("run", 0), final: map[textKey]string{}, spare: map[int]bool{}}
}

// Readers come, go, dawdle and resume at random between any two moves of the
// writer.
func TestAnyInterleavingGivesEveryReaderTheSameRun(t *testing.T) {
	seed := seeds(t)
	const runs, readers = 300, 5
	for i := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, i))
		var h Hub
		s := newStory(rng, &h)
		pages := make([]*page, readers)
		following := make([]*Reader, readers)
		for j := range pages {
			pages[j] = newPage(t)
		}
		step := func() {
			for j := range pages {
				switch rd := following[j]; {
				case rd == nil:
					if rng.IntN(6) == 0 {
						following[j] = s.run.Follow(pages[j].seq)
					}
				case rng.IntN(12) == 0: // cut; comes again by its last number
					rd.Stop()
					following[j] = nil
				case rng.IntN(1+2*j) == 0:
					s.take(t, pages[j], rd)
				}
			}
		}
		s.tell(step)
		h.Close(s.run)
		for j, p := range pages {
			if p.ended {
				continue
			}
			if following[j] == nil {
				following[j] = s.run.Follow(p.seq)
			}
			for !s.take(t, p, following[j]) {
			}
			s.check(t, "reader", p)
		}
		if t.Failed() {
			t.Fatalf("run %d of -seed=%d", i, seed)
		}
	}
}

// The same with every reader in a goroutine of its own, for the race detector.
func TestConcurrentReadersGetTheSameRun(t *testing.T) {
	seed := seeds(t)
	for i := range uint64(20) {
		var h Hub
		s := newStory(rand.New(rand.NewPCG(seed, i)), &h)
		var wg sync.WaitGroup
		pages := make([]*page, 8)
		for j := range pages {
			pages[j] = newPage(t)
			rng := rand.New(rand.NewPCG(seed, i<<8|uint64(j)))
			wg.Go(func() {
				for cut := false; !cut || !pages[j].ended; cut = true {
					rd := s.run.Follow(pages[j].seq)
					for n := rng.IntN(30); ; n-- {
						if s.take(t, pages[j], rd) || (n <= 0 && !pages[j].ended) {
							break
						}
						<-rd.Changed()
					}
					rd.Stop()
				}
			})
		}
		s.tell(func() {})
		h.Close(s.run)
		wg.Wait()
		for _, p := range pages {
			s.check(t, "reader", p)
		}
		if t.Failed() {
			t.Fatalf("run %d of -seed=%d", i, seed)
		}
	}
}
