package live

import (
	"errors"
	"io"
	"strings"

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
	writing int              // text that the offsets are of
	offset  [2]int           // bytes taken, by kind of text
	spared  map[int]struct{} // seqs ahead whose text was taken live
	version int              // of what was seen beside the text
}

// The kinds of text.
const (
	thinking = iota
	answer
)

// Follow makes a reader that has the log up to seq. Call Stop when done.
func (r *Run) Follow(seq int) *Reader {
	reader := &Reader{run: r, signal: make(chan struct{}, 1), seq: seq, spared: map[int]struct{}{}}
	r.mu.Lock()
	defer r.mu.Unlock()
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
// returns ErrBehind when events are missing that only SQL has, and, beside the
// last events, io.EOF when the run was closed.
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
		if _, ok := rd.spared[rd.seq]; !ok {
			out = append(out, r.tail[rd.seq-r.first])
		}
	}
	clear(rd.spared)
	out = rd.living(out)
	if r.closed {
		return out, io.EOF
	}
	return out, nil
}

// living adds what is new in the round being written. The caller holds mu.
func (rd *Reader) living(out []*pb.RunEvent) []*pb.RunEvent {
	r := rd.run
	if rd.writing != r.writing {
		rd.writing, rd.offset = r.writing, [2]int{}
	}
	if e := rd.piece(thinking, &r.thinking); e != nil {
		out = append(out, e)
	}
	if e := rd.piece(answer, &r.answer); e != nil {
		out = append(out, e)
	}
	if rd.version == r.version {
		return out
	}
	for _, all := range [][]shown{r.args, r.progress} {
		for _, s := range all {
			if s.version > rd.version {
				out = append(out, s.event)
			}
		}
	}
	rd.version = r.version
	return out
}

// piece is what the reader has not taken of a text, nil when it has it all.
func (rd *Reader) piece(kind int, text *strings.Builder) *pb.RunEvent {
	from := rd.offset[kind]
	if text.Len() == from {
		return nil
	}
	rd.offset[kind] = text.Len()
	// One allocation for the event and what is in it.
	var made struct {
		event    pb.RunEvent
		thinking pb.RunEvent_Thinking
		message  pb.RunEvent_Message
		piece    pb.TextPiece
	}
	m := &made
	m.piece.Content, m.piece.Round, m.piece.Offset = text.String()[from:], int32(rd.run.round), int32(from)
	if kind == thinking {
		m.thinking.Thinking = &m.piece
		m.event.Event = &m.thinking
	} else {
		m.message.Message = &m.piece
		m.event.Event = &m.message
	}
	return &m.event
}

// took reports whether the reader took all of a text live. The caller holds mu.
func (rd *Reader) took(kind int, logged *pb.TextPiece) bool {
	return rd.writing == rd.run.writing && rd.offset[kind] == len(logged.Content)
}
