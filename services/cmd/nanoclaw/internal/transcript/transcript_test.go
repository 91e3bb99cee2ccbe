package transcript

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

func text(seq, round int32, offset int, content string) *pb.RunEvent {
	return &pb.RunEvent{Seq: seq, Event: &pb.RunEvent_Message{Message: &pb.TextPiece{Round: round, Offset: int32(offset), Content: content}}}
}

func thought(seq, round int32, offset int, content string) *pb.RunEvent {
	return &pb.RunEvent{Seq: seq, Event: &pb.RunEvent_Thinking{Thinking: &pb.TextPiece{Round: round, Offset: int32(offset), Content: content}}}
}

func started(seq int32) *pb.RunEvent {
	return &pb.RunEvent{Seq: seq, Event: &pb.RunEvent_RunStarted{RunStarted: &pb.RunStarted{RunId: "run_1", ConversationId: "conv_1", Model: "m", TraceId: "t"}}}
}

func calls(seq, round int32, names ...string) *pb.RunEvent {
	c := &pb.ToolCalls{Round: round}
	for _, name := range names {
		c.Calls = append(c.Calls, &pb.ToolCall{Id: "call_" + name, Type: "function", Function: &pb.FunctionCall{Name: name, Arguments: "{}"}})
	}
	return &pb.RunEvent{Seq: seq, Event: &pb.RunEvent_ToolCall{ToolCall: c}}
}

func result(seq, round int32, name string) *pb.RunEvent {
	return &pb.RunEvent{Seq: seq, Event: &pb.RunEvent_ToolResult{ToolResult: &pb.ToolResults{Round: round,
		Results: []*pb.ToolResult{{Role: "tool", ToolCallId: "call_" + name, Name: name, Content: `{"success":true}`}}}}}
}

func restarted(seq, round int32) *pb.RunEvent {
	return &pb.RunEvent{Seq: seq, Event: &pb.RunEvent_RoundRestarted{RoundRestarted: &pb.RoundRestarted{Round: round}}}
}

func done(seq int32, reason string) *pb.RunEvent {
	return &pb.RunEvent{Seq: seq, Event: &pb.RunEvent_Done{Done: &pb.Done{RunId: "run_1", MessageId: "msg_1", FinishReason: reason}}}
}

func TestApply(t *testing.T) {
	tests := []struct {
		name   string
		events []*pb.RunEvent
		answer string
		seq    int32
		ended  bool
	}{
		{"pieces are put together", []*pb.RunEvent{text(0, 1, 0, "Hel"), text(0, 1, 3, "lo")}, "Hello", 0, false},
		{"a piece sent twice is there once", []*pb.RunEvent{text(0, 1, 0, "Hel"), text(0, 1, 3, "lo"), text(0, 1, 3, "lo")}, "Hello", 0, false},
		{"the beginning as one piece after a resume replaces", []*pb.RunEvent{text(0, 1, 0, "Hel"), text(0, 1, 0, "Hello wo"), text(0, 1, 8, "rld")}, "Hello world", 0, false},
		{"offsets count bytes", []*pb.RunEvent{text(0, 1, 0, "Grüß"), text(0, 1, 6, "e")}, "Grüße", 0, false},
		{"the logged text of a round replaces the live one", []*pb.RunEvent{text(0, 1, 0, "Hel"), text(4, 1, 0, "Hello")}, "Hello", 4, false},
		{"a logged event that is known changes nothing", []*pb.RunEvent{text(4, 1, 0, "Hello"), text(0, 2, 0, "Bye"), text(4, 2, 0, "again")}, "Bye", 4, false},
		{"a restarted round loses its text", []*pb.RunEvent{text(3, 1, 0, "First"), text(0, 2, 0, "half"), restarted(5, 2), text(0, 2, 0, "Whole")}, "Whole", 5, false},
		{"a restarted round that was not seen is fine", []*pb.RunEvent{restarted(2, 7)}, "", 2, false},
		{"the answer is the text of the last round", []*pb.RunEvent{started(1), text(2, 1, 0, "I look."), calls(3, 1, "search"), result(4, 1, "search"), text(5, 2, 0, "There."), done(6, "stop")}, "There.", 6, true},
		{"rounds in any order are kept in order", []*pb.RunEvent{text(0, 2, 0, "two"), text(0, 1, 0, "one")}, "two", 0, false},
		{"a failure ends the run", []*pb.RunEvent{{Seq: 2, Event: &pb.RunEvent_Error{Error: &pb.RunError{Reason: "X"}}}}, "", 2, true},
		{"an event of a newer kind is passed over", []*pb.RunEvent{{Seq: 9}}, "", 9, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tr Transcript
			for i, ev := range tt.events {
				if err := tr.Apply(ev); err != nil {
					t.Fatalf("event %d: %v", i, err)
				}
			}
			if tr.Answer() != tt.answer || tr.LastSeq != tt.seq || tr.Ended() != tt.ended {
				t.Errorf("answer %q, seq %d, ended %v; want %q, %d, %v", tr.Answer(), tr.LastSeq, tr.Ended(), tt.answer, tt.seq, tt.ended)
			}
		})
	}
}

func TestAGapChangesNothing(t *testing.T) {
	var tr Transcript
	for _, ev := range []*pb.RunEvent{text(0, 1, 0, "Hel"), text(7, 1, 5, "!")} {
		if err := tr.Apply(ev); err != nil && !errors.Is(err, ErrGap) {
			t.Fatal(err)
		} else if ev.Seq == 7 && err == nil {
			t.Fatal("a piece beyond the text was taken")
		}
	}
	if tr.Answer() != "Hel" || tr.LastSeq != 0 {
		t.Errorf("answer %q, seq %d; want Hel, 0", tr.Answer(), tr.LastSeq)
	}
}

func TestMessageIsWhatTheServerKeeps(t *testing.T) {
	var tr Transcript
	for _, ev := range []*pb.RunEvent{started(1), thought(2, 1, 0, "Hm."), text(3, 1, 0, "I look."), calls(4, 1, "a", "b"), result(5, 1, "b"), result(6, 1, "a"), text(7, 2, 0, "There."), done(8, "stop")} {
		if err := tr.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	var kinds []string
	for _, s := range tr.Message().Steps {
		kinds = append(kinds, s.Type+" "+s.Content+s.GetCall().GetFunction().GetName()+s.GetResult().GetName())
	}
	want := []string{"thinking Hm.", "text I look.", "tool_call a", "tool_call b", "tool_result a", "tool_result b", "text There."}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	m := tr.Message()
	m.Steps = nil
	if diff := cmp.Diff(&pb.Message{Id: "msg_1", ConversationId: "conv_1", Role: "assistant", Content: "There.", Model: "m",
		RunId: "run_1", Status: "completed", FinishReason: "stop"}, m, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestStatusOfAMessage(t *testing.T) {
	for want, tr := range map[string]*Transcript{
		"running":   {},
		"failed":    {Failed: &pb.RunError{}},
		"cancelled": {Done: &pb.Done{FinishReason: "cancelled"}},
		"completed": {Done: &pb.Done{FinishReason: "limit"}},
	} {
		if got := tr.Message().Status; got != want {
			t.Errorf("status %q, want %q", got, want)
		}
	}
}

// TestBrokenStreams plays a text with cuts at random places, each followed by
// what a server sends on a resume, and wants the text whole.
func TestBrokenStreams(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	whole := strings.Repeat("all of these words are said once. ", 20)
	for range 200 {
		var tr Transcript
		for at := 0; at < len(whole); {
			next := min(at+1+random.IntN(20), len(whole))
			piece := text(0, 1, at, whole[at:next])
			if random.IntN(4) == 0 { // cut: the text so far comes again as one piece
				piece = text(0, 1, 0, whole[:next])
			}
			if err := tr.Apply(piece); err != nil {
				t.Fatal(err)
			}
			at = next
		}
		if tr.Answer() != whole {
			t.Fatalf("got %q", tr.Answer())
		}
	}
}

func FuzzApply(f *testing.F) {
	f.Add([]byte("\x00\x01\x05hello\x02\x01\x00x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var tr Transcript
		for len(data) >= 3 {
			kind, round, offset := data[0]%5, int32(data[1]), int(int8(data[2]))
			data = data[3:]
			content := string(data[:min(len(data), 4)])
			before := tr.Answer()
			ev := []*pb.RunEvent{text(0, round, offset, content), thought(0, round, offset, content), calls(0, round, content), result(0, round, content), restarted(0, round)}[kind]
			if err := tr.Apply(ev); err != nil && tr.Answer() != before {
				t.Fatalf("a refused piece changed %q to %q", before, tr.Answer())
			}
			for i := 1; i < len(tr.Rounds); i++ {
				if tr.Rounds[i-1].Number >= tr.Rounds[i].Number {
					t.Fatal("rounds are out of order")
				}
			}
		}
		_ = tr.Message()
	})
}
