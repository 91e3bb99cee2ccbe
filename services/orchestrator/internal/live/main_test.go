package live

import (
	"testing"

	"go.uber.org/goleak"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func thought(seq, round int, s string) *pb.RunEvent {
	return &pb.RunEvent{Seq: int32(seq), Event: &pb.RunEvent_Thinking{Thinking: &pb.TextPiece{Content: s, Round: int32(round)}}}
}

func said(seq, round int, s string) *pb.RunEvent {
	return &pb.RunEvent{Seq: int32(seq), Event: &pb.RunEvent_Message{Message: &pb.TextPiece{Content: s, Round: int32(round)}}}
}

func spent(seq, round int) *pb.RunEvent {
	return &pb.RunEvent{Seq: int32(seq), Event: &pb.RunEvent_Usage{Usage: &pb.RoundUsage{Round: int32(round)}}}
}

func restarted(seq, round int) *pb.RunEvent {
	return &pb.RunEvent{Seq: int32(seq), Event: &pb.RunEvent_RoundRestarted{RoundRestarted: &pb.RoundRestarted{Round: int32(round)}}}
}

func noticed(seq int) *pb.RunEvent {
	return &pb.RunEvent{Seq: int32(seq), Event: &pb.RunEvent_Notice{Notice: &pb.Notice{Kind: "retry"}}}
}

func result(seq int, ids ...string) *pb.RunEvent {
	out := &pb.ToolResults{}
	for _, id := range ids {
		out.Results = append(out.Results, &pb.ToolResult{ToolCallId: id})
	}
	return &pb.RunEvent{Seq: int32(seq), Event: &pb.RunEvent_ToolResult{ToolResult: out}}
}

func done(seq int) *pb.RunEvent {
	return &pb.RunEvent{Seq: int32(seq), Event: &pb.RunEvent_Done{Done: &pb.Done{}}}
}

// textKey names a text of a run.
type textKey struct {
	kind  int
	round int32
}

// page is what a reader makes of events, by the rules of the contract.
type page struct {
	t     testing.TB
	seq   int
	seen  map[int]bool
	texts map[textKey]string
	ended bool
}

func newPage(t testing.TB) *page {
	return &page{t: t, seen: map[int]bool{}, texts: map[textKey]string{}}
}

// read takes events as a client does.
func (p *page) read(events ...*pb.RunEvent) {
	p.t.Helper()
	for _, e := range events {
		if p.ended {
			p.t.Errorf("event after the end: %v", e)
		}
		if e.Seq > 0 {
			if int(e.Seq) <= p.seq {
				p.t.Errorf("event %d came after event %d", e.Seq, p.seq)
			}
			p.seq = int(e.Seq)
			p.seen[p.seq] = true
		}
		switch v := e.Event.(type) {
		case *pb.RunEvent_Thinking:
			p.keep(thinking, v.Thinking)
		case *pb.RunEvent_Message:
			p.keep(answer, v.Message)
		case *pb.RunEvent_RoundRestarted:
			delete(p.texts, textKey{thinking, v.RoundRestarted.Round})
			delete(p.texts, textKey{answer, v.RoundRestarted.Round})
		case *pb.RunEvent_Done, *pb.RunEvent_Error:
			p.ended = true
		}
	}
}

func (p *page) keep(kind int, piece *pb.TextPiece) {
	p.t.Helper()
	k := textKey{kind, piece.Round}
	have := p.texts[k]
	if int(piece.Offset) > len(have) {
		p.t.Errorf("text of round %d has a gap: %d bytes read, a piece at %d", piece.Round, len(have), piece.Offset)
		return
	}
	p.texts[k] = have[:piece.Offset] + piece.Content
}

// next reads what a reader has, which must not be behind.
func (p *page) next(rd *Reader) []*pb.RunEvent {
	p.t.Helper()
	events, err := rd.Next()
	if err != nil {
		p.t.Fatalf("Next: %v", err)
	}
	p.read(events...)
	return events
}
