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
	"slices"
	"strings"
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

// Close removes the run. Its readers get what is left, with io.EOF.
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

// Run is the live side of one run.
type Run struct {
	id string

	mu      sync.Mutex
	readers map[*Reader]struct{}
	closed  bool

	seq   int // last published sequence number
	first int // sequence number of tail[0]
	tail  []*pb.RunEvent

	// The text of the round being written, by kind. A builder only grows, so
	// pieces of it are sent without being copied.
	round            int
	writing          int // counts texts begun: a round that is written anew is another
	thinking, answer strings.Builder

	// What is shown beside the text. Only the newest of each counts; version
	// counts changes, so that a reader knows what it has not seen.
	args      []shown // by ordinal
	argsShown time.Time
	progress  []shown // by call
	version   int
}

// shown is the newest event about one call.
type shown struct {
	version int
	id      string // of the call; not known while it is written
	event   *pb.RunEvent
}

// Think appends to the reasoning of a round. A new round begins by its number.
func (r *Run) Think(round int, s string) { r.append(round, s, &r.thinking) }

// Write appends to the answer text of a round.
func (r *Run) Write(round int, s string) { r.append(round, s, &r.answer) }

func (r *Run) append(round int, s string, to *strings.Builder) {
	if s == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(round)
	to.WriteString(s)
	r.wake()
}

// begin starts a round that is not the one being written.
func (r *Run) begin(round int) {
	if r.round != round {
		r.clearRound()
		r.round = round
	}
}

func (r *Run) clearRound() {
	r.writing++
	r.thinking.Reset()
	r.answer.Reset()
	r.args = nil
}

// Args shows the arguments of a call while they are written; all is the whole
// text so far. What comes within 80 ms of what was shown last is left out: the
// next piece, or the logged call, has it all.
func (r *Run) Args(round, ordinal int, name, all string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(round)
	if now.Sub(r.argsShown) < argsEvery {
		return
	}
	r.argsShown = now
	if len(all) > maxArgsShown {
		all = validTail(all[len(all)-maxArgsShown:])
	}
	for len(r.args) <= ordinal {
		r.args = append(r.args, shown{})
	}
	r.version++
	r.args[ordinal] = shown{version: r.version, event: &pb.RunEvent{Event: &pb.RunEvent_ToolArgs{
		ToolArgs: &pb.ToolArgs{Round: int32(round), Ordinal: int32(ordinal), Name: name, Arguments: all},
	}}}
	r.wake()
}

// Progress shows how far a tool has come.
func (r *Run) Progress(p *pb.ToolProgress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.wake()
	r.version++
	s := shown{version: r.version, id: p.ToolCallId, event: &pb.RunEvent{Event: &pb.RunEvent_ToolProgress{ToolProgress: p}}}
	for i := range r.progress {
		if r.progress[i].id == s.id {
			r.progress[i] = s
			return
		}
	}
	r.progress = append(r.progress, s)
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
		case *pb.RunEvent_Thinking:
			r.settle(thinking, e, v.Thinking)
		case *pb.RunEvent_Message:
			r.settle(answer, e, v.Message)
		case *pb.RunEvent_RoundRestarted:
			r.clearRound()
		case *pb.RunEvent_ToolResult:
			r.dropProgress(v.ToolResult)
		case *pb.RunEvent_Usage: // always logged with a round's text
			r.begin(0)
		case *pb.RunEvent_Done, *pb.RunEvent_Error:
			r.begin(0)
			r.progress = nil
		}
		r.seq = int(e.Seq)
		r.tail = append(r.tail, e)
	}
	if n := len(r.tail) - tailEvents; n > 0 {
		r.first += n
		r.tail = append(r.tail[:0:0], r.tail[n:]...)
	}
	r.wake()
}

// settle spares the readers that took the whole text live its logged form.
func (r *Run) settle(kind int, e *pb.RunEvent, logged *pb.TextPiece) {
	for reader := range r.readers {
		if reader.took(kind, logged) {
			reader.spared[int(e.Seq)] = struct{}{}
		}
	}
}

// dropProgress forgets calls that have their result.
func (r *Run) dropProgress(results *pb.ToolResults) {
	r.progress = slices.DeleteFunc(r.progress, func(s shown) bool {
		return slices.ContainsFunc(results.Results, func(res *pb.ToolResult) bool { return res.ToolCallId == s.id })
	})
}

// Text is what the round being written has come to.
func (r *Run) Text() (round int, thinking, answer string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.round, r.thinking.String(), r.answer.String()
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
