// Package live holds what readers of a run see before it is in SQL: the text of
// the round being written, arguments as they grow, and the progress of tools.
//
// The owner of a run publishes into a [Run]; any number of readers follow it,
// each at its own pace. A reader keeps places (a sequence number, and an offset
// into each text) instead of a queue, so a slow reader costs no memory: what it
// has not yet taken is sent to it in one larger piece.
//
// Logged events are published after their commit. The tail of the log is kept
// here so that followers need not ask SQL; [Reader.Next] says when it no longer
// reaches back far enough.
package live

import (
	"sync"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

const (
	// tailEvents is how many logged events a run keeps in memory.
	tailEvents = 256
	// argsEvery is the least time between two tool_args events of a run.
	argsEvery = 80 * time.Millisecond
	// maxArgsShown is how many bytes of arguments a tool_args event carries.
	maxArgsShown = 4096
)

// Hub has the runs that this process owns. The zero Hub is ready to use.
type Hub struct {
	mu     sync.Mutex
	runs   map[string]*Run
	opened chan struct{} // closed at the next Open
}

// Open adds a run whose log stands at seq. Opening an open run replaces it: its
// readers are told to look again.
func (h *Hub) Open(runID string, seq int) *Run {
	r := &Run{id: runID, seq: seq, first: seq + 1, readers: map[*Reader]struct{}{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs == nil {
		h.runs = map[string]*Run{}
	}
	if old := h.runs[runID]; old != nil {
		old.close()
	}
	h.runs[runID] = r
	if h.opened != nil {
		close(h.opened)
		h.opened = nil
	}
	return r
}

// Opened is closed when any run is opened after the call.
func (h *Hub) Opened() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opened == nil {
		h.opened = make(chan struct{})
	}
	return h.opened
}

// Close removes the run. Its readers get what is left, then io.EOF.
func (h *Hub) Close(r *Run) {
	h.mu.Lock()
	if h.runs[r.id] == r {
		delete(h.runs, r.id)
	}
	h.mu.Unlock()
	r.close()
}

// Get is the run with the id, nil when this process does not own it.
func (h *Hub) Get(runID string) *Run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[runID]
}

// text is the text of one kind of the round being written. It only grows, so a
// string made of it stays valid.
type text struct{ buf []byte }

func (t *text) piece(round, from int) *pb.TextPiece {
	return &pb.TextPiece{Content: string(t.buf[from:]), Round: int32(round), Offset: int32(from)}
}

// Run is the live side of one run.
type Run struct {
	id string

	mu      sync.Mutex
	readers map[*Reader]struct{}
	closed  bool

	seq   int // last published sequence number
	first int // sequence number of tail[0]
	tail  []*pb.RunEvent

	round            int
	thinking, answer text

	args        []*pb.ToolArgs
	argsVersion []int
	argsShown   time.Time

	progress []progress
	version  int // of args and progress, counted together
}

type progress struct {
	version int
	event   *pb.ToolProgress
}

// Think appends to the reasoning of a round. A new round begins by its number.
func (r *Run) Think(round int, s string) { r.append(round, s, &r.thinking) }

// Write appends to the answer text of a round.
func (r *Run) Write(round int, s string) { r.append(round, s, &r.answer) }

func (r *Run) append(round int, s string, to *text) {
	if s == "" {
		return
	}
	r.mu.Lock()
	r.begin(round)
	to.buf = append(to.buf, s...)
	r.wake()
	r.mu.Unlock()
}

// begin starts a round that is not the one being written.
func (r *Run) begin(round int) {
	if r.round == round {
		return
	}
	r.round = round
	r.clearRound()
}

func (r *Run) clearRound() {
	r.thinking, r.answer = text{}, text{}
	r.args, r.argsVersion = nil, nil
}

// Args shows the arguments of a call while they are written; all is the whole
// text so far. Readers are woken at most every 80 ms.
func (r *Run) Args(round, ordinal int, name, all string, now time.Time) {
	if len(all) > maxArgsShown {
		all = all[len(all)-maxArgsShown:]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(round)
	for len(r.args) <= ordinal {
		r.args = append(r.args, nil)
		r.argsVersion = append(r.argsVersion, 0)
	}
	r.version++
	r.args[ordinal] = &pb.ToolArgs{Round: int32(round), Ordinal: int32(ordinal), Name: name, Arguments: validTail(all)}
	r.argsVersion[ordinal] = r.version
	if now.Sub(r.argsShown) >= argsEvery {
		r.argsShown = now
		r.wake()
	}
}

// Progress shows how far a tool has come.
func (r *Run) Progress(p *pb.ToolProgress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version++
	for i := range r.progress {
		if r.progress[i].event.ToolCallId == p.ToolCallId {
			r.progress[i] = progress{r.version, p}
			r.wake()
			return
		}
	}
	r.progress = append(r.progress, progress{r.version, p})
	r.wake()
}

// Publish makes committed events visible, in order. The text of a round ends
// its life here when its logged events come.
func (r *Run) Publish(events []*pb.RunEvent) {
	if len(events) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		switch v := e.Event.(type) {
		case *pb.RunEvent_Thinking, *pb.RunEvent_Message:
			// Readers that had the whole text live are spared its logged form.
			for reader := range r.readers {
				reader.settle(r, e)
			}
		case *pb.RunEvent_RoundRestarted:
			r.clearRound()
			for reader := range r.readers {
				reader.restart(int(v.RoundRestarted.Round))
			}
		case *pb.RunEvent_ToolResult:
			r.dropProgress(v.ToolResult)
		}
		r.seq = int(e.Seq)
		r.tail = append(r.tail, e)
	}
	if closesRound(events) {
		r.clearRound()
		r.round = 0
	}
	if n := len(r.tail) - tailEvents; n > 0 {
		r.first += n
		r.tail = append(r.tail[:0:0], r.tail[n:]...)
	}
	r.wake()
}

// closesRound reports whether a round's text is in the log now: its usage is
// always logged with it, and the end of a run ends every round.
func closesRound(events []*pb.RunEvent) bool {
	for _, e := range events {
		switch e.Event.(type) {
		case *pb.RunEvent_Usage, *pb.RunEvent_Done, *pb.RunEvent_Error:
			return true
		}
	}
	return false
}

func (r *Run) dropProgress(results *pb.ToolResults) {
	kept := r.progress[:0]
	for _, p := range r.progress {
		done := false
		for _, res := range results.Results {
			done = done || res.ToolCallId == p.event.ToolCallId
		}
		if !done {
			kept = append(kept, p)
		}
	}
	r.progress = kept
}

// Text is what the round being written has come to.
func (r *Run) Text() (round int, thinking, answer string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.round, string(r.thinking.buf), string(r.answer.buf)
}

func (r *Run) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wake()
}

// wake tells every reader to look. The caller holds mu.
func (r *Run) wake() {
	for reader := range r.readers {
		select {
		case reader.signal <- struct{}{}:
		default:
		}
	}
}

// validTail drops the rest of a character that was cut at the front.
func validTail(s string) string {
	for len(s) > 0 && s[0]&0xC0 == 0x80 {
		s = s[1:]
	}
	return s
}
