// Package api serves the orchestrator's contracts: one thin file a service.
// Handlers turn requests into calls of the concepts and answers into messages;
// what is decided is decided elsewhere.
package api

import (
	"cmp"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/engine"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// defaultPage is how many items a list has when nobody says.
const defaultPage = 20

func stamp(ms int64) *timestamppb.Timestamp {
	if ms == 0 {
		return nil
	}
	return timestamppb.New(time.UnixMilli(ms))
}

func wireConversation(c schema.Conversation, live *schema.Run, length int) *pb.Conversation {
	out := &pb.Conversation{
		Id: c.ID, Title: c.Title, Model: c.Model, SystemPrompt: c.SystemPrompt,
		CreatedAt: stamp(c.CreatedAt), UpdatedAt: stamp(c.UpdatedAt), MessageCount: int32(length),
	}
	if live != nil && !live.Ended() {
		out.LiveRun = &pb.LiveRun{Id: live.ID, Status: live.Status, LastSeq: int32(live.LastSeq)}
	}
	return out
}

// wireMessage makes a message of the API. r, rounds and used are those of the
// run that made an assistant message.
func wireMessage(m schema.Message, r *schema.Run, rounds []prompt.Round, used *pb.Usage) *pb.Message {
	out := &pb.Message{
		Id: m.ID, ConversationId: m.ConversationID, ParentId: m.ParentID, Role: m.Role, Content: m.Content,
		CreatedAt: stamp(m.CreatedAt), Origins: m.Origins, RunId: m.RunID,
	}
	if r == nil {
		return out
	}
	out.Model, out.Status, out.FinishReason, out.Error = answeredBy(*r, rounds), r.Status, r.FinishReason, wireError(*r)
	out.Usage, out.Steps = used, steps(m, rounds)
	return out
}

// answeredBy is the model that came up with the last round of a run: the one that
// was asked, or one that answered in its place.
func answeredBy(r schema.Run, rounds []prompt.Round) string {
	if n := len(rounds); n > 0 && rounds[n-1].Call.Model != "" {
		return rounds[n-1].Call.Model
	}
	return r.Model
}

// steps tells how an answer was made, in order.
func steps(m schema.Message, rounds []prompt.Round) []*pb.Step {
	var out []*pb.Step
	last := ""
	for _, r := range rounds {
		round := int32(r.Call.Round)
		if r.Call.Reasoning != "" {
			out = append(out, &pb.Step{Type: "thinking", Round: round, Content: r.Call.Reasoning})
		}
		if r.Call.Text != "" {
			out = append(out, &pb.Step{Type: "text", Round: round, Content: r.Call.Text})
			last = r.Call.Text
		}
		for _, t := range r.Tools {
			out = append(out, &pb.Step{Type: "tool_call", Round: round, Call: engine.WireCall(t)})
		}
		for _, t := range r.Tools {
			if t.Terminal() {
				out = append(out, &pb.Step{Type: "tool_result", Round: round, Result: engine.WireResult(t)})
			}
		}
	}
	if m.Content != "" && m.Content != last { // of a round that was not finished
		out = append(out, &pb.Step{Type: "text", Round: int32(len(rounds) + 1), Content: m.Content})
	}
	return out
}

func wireError(r schema.Run) *pb.RunError {
	if r.ErrorReason == "" {
		return nil
	}
	return &pb.RunError{
		Code: int32(r.ErrorCode), Reason: r.ErrorReason, Message: r.ErrorMessage, Retryable: r.ErrorRetryable, TraceId: r.TraceID,
	}
}

func wireRun(r schema.Run, rounds []prompt.Round, used *pb.Usage) *pb.Run {
	out := &pb.Run{
		Id: r.ID, ConversationId: r.ConversationID, Status: r.Status, FinishReason: r.FinishReason, Error: wireError(r),
		LastSeq: int32(r.LastSeq), Rounds: int32(r.Rounds), Model: answeredBy(r, rounds), Usage: used, TraceId: r.TraceID,
		CreatedAt: stamp(r.CreatedAt), EndedAt: stamp(r.EndedAt), WaitingFor: waitingFor(r),
	}
	if r.Ended() {
		out.MessageId = r.MessageID
	}
	for _, round := range rounds {
		for _, t := range round.Tools {
			out.ToolCalls = append(out.ToolCalls, wireCallState(t))
		}
	}
	return out
}

func waitingFor(r schema.Run) []string {
	if r.WaitingFor == "" {
		return nil
	}
	return strings.Fields(r.WaitingFor)
}

func wireCallState(t schema.ToolCall) *pb.ToolCallState {
	out := &pb.ToolCallState{
		Id: t.ID, Name: t.Name, Round: int32(t.Round), Status: callStatus(t), Attempt: int32(t.Attempt), TraceId: t.TraceID,
	}
	out.StartedAt, out.DurationMs = stamp(t.StartedAt), duration(t.StartedAt, t.EndedAt)
	return out
}

// wireModelCalls are the model calls of a run, which are in order. One after the
// answer of its round asked for the arguments of a call once more.
func wireModelCalls(calls []schema.ModelCall) (out []*pb.ModelCallState) {
	answered := map[int]bool{}
	for _, c := range calls {
		w := wireModelCall(c)
		w.Corrector = answered[c.Round]
		answered[c.Round] = answered[c.Round] || c.State == schema.ModelCallDone
		out = append(out, w)
	}
	return out
}

func wireModelCall(c schema.ModelCall) *pb.ModelCallState {
	status := map[string]string{schema.ModelCallStarted: "running", schema.ModelCallDone: "completed", schema.ModelCallCorrected: "completed"}[c.State]
	return &pb.ModelCallState{
		Round: int32(c.Round), Attempt: int32(c.Attempt), Status: cmp.Or(status, "error"), Model: c.Model,
		StartedAt: stamp(c.StartedAt), DurationMs: duration(c.StartedAt, c.EndedAt),
		InputTokens: int32(c.InputTokens), OutputTokens: int32(c.OutputTokens),
	}
}

// duration is the time between two moments in ms; 0 where one is not known.
func duration(from, to int64) int32 {
	if from <= 0 || to <= from {
		return 0
	}
	return int32(min(to-from, 1<<31-1))
}

// callStatus is the name that the API has for the state of a call.
func callStatus(t schema.ToolCall) string {
	switch t.State {
	case schema.CallPlanned:
		return "pending"
	case schema.CallDispatching:
		return "running"
	case schema.CallDone:
		if t.IsError {
			return "error"
		}
		return "completed"
	default: // waiting_approval, denied, unknown and cancelled are named alike
		return t.State
	}
}

func wireToken(t schema.Token) *pb.TokenInfo {
	return &pb.TokenInfo{
		Id: t.ID, Name: t.Name, Scopes: strings.Fields(t.Scopes), Prefix: t.Prefix,
		CreatedAt: stamp(t.CreatedAt), ExpiresAt: stamp(t.ExpiresAt), LastUsedAt: stamp(t.LastUsedAt),
	}
}

// page is how many items a list has at most.
func page(limit *int32) int {
	if limit == nil {
		return defaultPage
	}
	return int(*limit)
}

// checkCursor refuses what is not the id of an item. The item itself may be gone.
func checkCursor(cursor, prefix string) error {
	if cursor != "" && !ident.Is(cursor, prefix) {
		return rpcerr.InvalidArgument("cursor", "it is not the next_cursor of a page of this list")
	}
	return nil
}
