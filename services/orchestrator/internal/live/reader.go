package live

import (
	"errors"
	"io"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

// ErrBehind says that the tail no longer holds the reader's place. Read the
// events after [Reader.Seq] from SQL, call [Reader.Skip], and go on.
var ErrBehind = errors.New("live: the reader's place is only in the log")

// Reader follows a run. It is for one goroutine.
type Reader struct {
	run    *Run
	signal chan struct{}

	// All below is guarded by run.mu.
	seq     int
	round   int              // round that the offsets are of
	offset  [2]int           // bytes taken: reasoning, answer
	spared  map[int]struct{} // seqs whose text was taken live
	version int              // of args and progress
}

const (
	thinking = iota
	answer
)

// Follow makes a reader that has the log up to seq. Call Stop when done.
func (r *Run) Follow(seq int) *Reader {
	reader := &Reader{run: r, signal: make(chan struct{}, 1), seq: seq}
	r.mu.Lock()
	defer r.mu.Unlock()
	reader.version = r.version
	r.readers[reader] = struct{}{}
	return reader
}

// Stop ends the reader.
func (rd *Reader) Stop() {
	rd.run.mu.Lock()
	defer rd.run.mu.Unlock()
	delete(rd.run.readers, rd)
}

// Seq is the last logged event that the reader has.
func (rd *Reader) Seq() int {
	rd.run.mu.Lock()
	defer rd.run.mu.Unlock()
	return rd.seq
}

// Skip moves the reader's place in the log to seq: it got the events before
// from elsewhere.
func (rd *Reader) Skip(seq int) {
	rd.run.mu.Lock()
	defer rd.run.mu.Unlock()
	rd.seq = max(rd.seq, seq)
}

// Changed receives when there may be something new.
func (rd *Reader) Changed() <-chan struct{} { return rd.signal }

// Next returns everything new, oldest first; nothing when there is nothing. It
// returns ErrBehind when events are missing that only SQL has, and io.EOF when
// the run was closed and everything was taken.
func (rd *Reader) Next() ([]*pb.RunEvent, error) {
	r := rd.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if rd.seq < r.seq && rd.seq+1 < r.first {
		return nil, ErrBehind
	}
	var out []*pb.RunEvent
	for rd.seq < r.seq {
		rd.seq++
		if _, ok := rd.spared[rd.seq]; ok {
			delete(rd.spared, rd.seq)
			continue
		}
		out = append(out, r.tail[rd.seq-r.first])
	}
	out = rd.living(out)
	if len(out) == 0 && r.closed {
		return nil, io.EOF
	}
	return out, nil
}

// living adds what is new in the round being written. The caller holds mu.
func (rd *Reader) living(out []*pb.RunEvent) []*pb.RunEvent {
	r := rd.run
	if r.round != rd.round {
		rd.round, rd.offset = r.round, [2]int{}
	}
	if n := len(r.thinking.buf); n > rd.offset[thinking] {
		out = append(out, &pb.RunEvent{Event: &pb.RunEvent_Thinking{Thinking: r.thinking.piece(r.round, rd.offset[thinking])}})
		rd.offset[thinking] = n
	}
	if n := len(r.answer.buf); n > rd.offset[answer] {
		out = append(out, &pb.RunEvent{Event: &pb.RunEvent_Message{Message: r.answer.piece(r.round, rd.offset[answer])}})
		rd.offset[answer] = n
	}
	if rd.version == r.version {
		return out
	}
	for i, a := range r.args {
		if a != nil && r.argsVersion[i] > rd.version {
			out = append(out, &pb.RunEvent{Event: &pb.RunEvent_ToolArgs{ToolArgs: a}})
		}
	}
	for _, p := range r.progress {
		if p.version > rd.version {
			out = append(out, &pb.RunEvent{Event: &pb.RunEvent_ToolProgress{ToolProgress: p.event}})
		}
	}
	rd.version = r.version
	return out
}

// settle remembers that the reader need not get a logged text, because it took
// all of it live. The caller holds mu.
func (rd *Reader) settle(r *Run, e *pb.RunEvent) {
	if rd.round == 0 || rd.round != r.round {
		return
	}
	var size, taken int
	switch v := e.Event.(type) {
	case *pb.RunEvent_Thinking:
		size, taken = len(v.Thinking.Content), rd.offset[thinking]
	case *pb.RunEvent_Message:
		size, taken = len(v.Message.Content), rd.offset[answer]
	}
	if size != taken {
		return // it gets the logged text from offset 0
	}
	if rd.spared == nil {
		rd.spared = map[int]struct{}{}
	}
	rd.spared[int(e.Seq)] = struct{}{}
}

// restart forgets what was taken of a round that is written anew. The caller
// holds mu.
func (rd *Reader) restart(round int) {
	if rd.round == round {
		rd.round, rd.offset = 0, [2]int{}
	}
}
