// Package transcript puts the events of a run together to what was said. It is
// pure: however often a stream breaks and is resumed, with text sent twice, in
// other pieces, or a round written anew, the transcript is the same.
package transcript

import (
	"errors"
	"slices"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

// ErrGap says that a piece of text begins beyond what is there: the reader
// missed some and must resume from LastSeq.
var ErrGap = errors.New("a piece of the text is missing")

// Transcript is what a run has said so far. The zero value is ready.
type Transcript struct {
	RunID, ConversationID string
	Model, TraceID        string
	// LastSeq is the highest sequence number applied: where to resume.
	LastSeq int32
	// Rounds in their order.
	Rounds  []*Round
	Notices []*orchestratorv1.Notice
	// Done or Failed is set when the run has ended.
	Done   *orchestratorv1.Done
	Failed *orchestratorv1.RunError
}

// Round is one model call and the tools it asked for.
type Round struct {
	Number         int32
	Thinking, Text string
	Calls          []*Call
}

// Call is a tool call and, once there is one, its result.
type Call struct {
	ID, Name string
	// Arguments are JSON text as the model wrote it.
	Arguments string
	Result    *orchestratorv1.ToolResult
}

// Apply takes one event in. Logged events that are known already change
// nothing. After ErrGap the transcript is as before.
func (t *Transcript) Apply(ev *orchestratorv1.RunEvent) error {
	if ev.GetSeq() > 0 && ev.GetSeq() <= t.LastSeq {
		return nil
	}
	if err := t.take(ev); err != nil {
		return err
	}
	t.LastSeq = max(t.LastSeq, ev.GetSeq())
	return nil
}

func (t *Transcript) take(ev *orchestratorv1.RunEvent) error {
	switch e := ev.GetEvent().(type) {
	case *orchestratorv1.RunEvent_RunStarted:
		t.RunID, t.ConversationID = e.RunStarted.GetRunId(), e.RunStarted.GetConversationId()
		t.Model, t.TraceID = e.RunStarted.GetModel(), e.RunStarted.GetTraceId()
	case *orchestratorv1.RunEvent_Thinking:
		return t.splice(e.Thinking, func(r *Round) *string { return &r.Thinking })
	case *orchestratorv1.RunEvent_Message:
		return t.splice(e.Message, func(r *Round) *string { return &r.Text })
	case *orchestratorv1.RunEvent_ToolCall:
		t.calls(e.ToolCall)
	case *orchestratorv1.RunEvent_ToolResult:
		for _, r := range e.ToolResult.GetResults() {
			t.result(e.ToolResult.GetRound(), r)
		}
	case *orchestratorv1.RunEvent_Notice:
		t.Notices = append(t.Notices, e.Notice)
	case *orchestratorv1.RunEvent_RoundRestarted:
		t.Rounds = slices.DeleteFunc(t.Rounds, func(r *Round) bool { return r.Number == e.RoundRestarted.GetRound() })
	case *orchestratorv1.RunEvent_Done:
		t.Done = e.Done
	case *orchestratorv1.RunEvent_Error:
		t.Failed = e.Error
	}
	return nil
}

// Ended says whether the run is over.
func (t *Transcript) Ended() bool { return t.Done != nil || t.Failed != nil }

// Answer is the text of the last round, which is the answer unless that round
// called tools.
func (t *Transcript) Answer() string {
	if len(t.Rounds) == 0 {
		return ""
	}
	return t.Rounds[len(t.Rounds)-1].Text
}

// Round finds a round by its number, nil when nothing of it was seen.
func (t *Transcript) Round(number int32) *Round {
	if i, found := t.search(number); found {
		return t.Rounds[i]
	}
	return nil
}

// round is Round, made when missing.
func (t *Transcript) round(number int32) *Round {
	i, found := t.search(number)
	if !found {
		t.Rounds = slices.Insert(t.Rounds, i, &Round{Number: number})
	}
	return t.Rounds[i]
}

func (t *Transcript) search(number int32) (int, bool) {
	return slices.BinarySearchFunc(t.Rounds, number, func(r *Round, n int32) int { return int(r.Number) - int(n) })
}

// splice keeps text[:offset] + content of one text of a round.
func (t *Transcript) splice(piece *orchestratorv1.TextPiece, of func(*Round) *string) error {
	known, offset := 0, int(piece.GetOffset())
	if r := t.Round(piece.GetRound()); r != nil {
		known = len(*of(r))
	}
	if offset < 0 || offset > known {
		return ErrGap
	}
	text := of(t.round(piece.GetRound()))
	*text = (*text)[:offset] + piece.GetContent()
	return nil
}

func (t *Transcript) calls(event *orchestratorv1.ToolCalls) {
	r := t.round(event.GetRound())
	r.Calls = nil
	for _, c := range event.GetCalls() {
		r.Calls = append(r.Calls, &Call{ID: c.GetId(), Name: c.GetFunction().GetName(), Arguments: c.GetFunction().GetArguments()})
	}
}

// result goes to its call; one without a call seen gets a call of its own.
func (t *Transcript) result(round int32, res *orchestratorv1.ToolResult) {
	r := t.round(round)
	for _, c := range r.Calls {
		if c.ID == res.GetToolCallId() {
			c.Result = res
			return
		}
	}
	r.Calls = append(r.Calls, &Call{ID: res.GetToolCallId(), Name: res.GetName(), Result: res})
}
