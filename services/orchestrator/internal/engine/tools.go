package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/dispatch"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/gate"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// plan writes down the calls of an answer, before any is made.
func (t *turn) plan(round int, proposed []provider.Call) []schema.ToolCall {
	tools := t.Tools.Snapshot()
	calls := make([]schema.ToolCall, len(proposed))
	corrections := 0
	for i, p := range proposed {
		d := gate.Decide(tools, gate.Call{Name: p.Name, Arguments: p.Arguments, Ordinal: i}, t.cfg.MaxCalls)
		c := schema.ToolCall{
			ID: ident.New(schema.ToolCallPrefix), RunID: t.run.ID, ConversationID: t.run.ConversationID, UserID: t.run.UserID,
			Round: round, Ordinal: i, ProviderCallID: clip(p.ID, 200), Name: clip(p.Name, 200),
			Arguments: p.Arguments, Extra: string(p.Extra), ArgsCanonical: string(d.Canonical), ArgsSHA256: d.Hash,
			State: schema.CallPlanned, TraceID: t.run.TraceID, CreatedAt: t.Now().UnixMilli(),
		}
		if c.ArgsSHA256 == "" {
			c.ArgsSHA256 = hexHash(p.Arguments)
		}
		if correctable(d, p.Arguments) && corrections < t.cfg.Corrections {
			c.Decision = schema.DecisionCorrect
			corrections++
		}
		if d.Tool != nil {
			c.Effect = d.Tool.Effect
		}
		c.EffectKey = EffectKey(t.run.ID, round, i, c.Name, c.ArgsSHA256)
		calls[i] = c
	}
	return calls
}

// EffectKey is the key under which a call has its effect once. It is made from
// the call's place and arguments, so that the same call has the same key in
// whatever process it is made.
func EffectKey(runID string, round, ordinal int, tool, argsHash string) string {
	return hexHash(strings.Join([]string{runID, fmt.Sprint(round), fmt.Sprint(ordinal), tool, argsHash}, "\x00"))
}

func hexHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// runTools makes the calls of a round that have no result yet, in bounded
// parallel, and logs their results in the order of the calls.
func (t *turn) runTools(ctx context.Context, r *prompt.Round) error {
	pending := make([]int, 0, len(r.Tools))
	over := make([]bool, len(r.Tools)) // calls with a result
	for i := range r.Tools {
		if over[i] = r.Tools[i].Terminal(); !over[i] {
			pending = append(pending, i)
		}
	}
	if len(pending) == 0 {
		return nil
	}
	logged := pending[0] // results are logged up to the first call without one
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type ended struct {
		index int
		err   error
	}
	done := make(chan ended, len(pending))
	places := semaphore.NewWeighted(int64(t.cfg.ParallelCalls))
	for _, i := range pending {
		go func() {
			done <- ended{i, guard(func() error { return t.makeCall(ctx, places, &r.Tools[i], len(r.Tools)) })}
		}()
	}
	var failed error
	for range pending {
		e := <-done
		if e.err == nil {
			over[e.index] = true
			from := logged
			for logged < len(over) && over[logged] {
				logged++
			}
			c := &r.Tools[e.index]
			if e.err = t.keepResult(ctx, r, c, r.Tools[from:logged]); e.err != nil {
				over[e.index], logged = false, from
				c.State = schema.CallPlanned // as it is stored
				if c.StartedAt > 0 {
					c.State = schema.CallDispatching
				}
			}
		}
		if errors.Is(e.err, run.ErrFenced) {
			e.err = errors.Join(errLost, e.err)
		}
		if e.err != nil {
			failed = errors.Join(failed, e.err)
			cancel(e.err)
		}
	}
	return failed
}

// keepResult stores the result of a call, durable at once, and logs the results
// whose turn has come. What is there is stored also when the run is to stop.
func (t *turn) keepResult(ctx context.Context, r *prompt.Round, c *schema.ToolCall, next []schema.ToolCall) error {
	t.origins = t.origins.With(c.Origins...)
	var events []*pb.RunEvent
	if len(next) > 0 {
		out := &pb.ToolResults{Round: int32(r.Call.Round)}
		for _, n := range next {
			out.Results = append(out.Results, WireResult(n))
		}
		events = append(events, &pb.RunEvent{Event: &pb.RunEvent_ToolResult{ToolResult: out}})
	}
	ctx, stop := outlasting(ctx)
	defer stop()
	if err := t.Runs.FinishTools(ctx, t.lease, t.origins, []*schema.ToolCall{c}, events...); err != nil {
		return err
	}
	t.live.Publish(events)
	return nil
}

// outlasting is ctx, but ends only writeTime after it.
func outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(writeTime)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-out.Done():
		}
	})
	return out, func() { stop(); cancel() }
}

// makeCall brings one call to its end: c gets its result.
func (t *turn) makeCall(ctx context.Context, places *semaphore.Weighted, c *schema.ToolCall, together int) error {
	d := t.decideStored(*c)
	c.Decision, c.Reason = string(d.Verdict), d.Reason
	if c.State == schema.CallDispatching && d.Verdict != gate.Allow && c.Effect != "pure" {
		out := dispatch.Unknown("The server stopped while the call was being made, and the tool cannot be asked any more.")
		return t.end(ctx, c, d.Tool, schema.CallUnknown, out, together)
	}
	switch d.Verdict {
	case gate.Reject:
		return t.end(ctx, c, nil, schema.CallDone, t.refused(*c, d), together)
	case gate.Deny:
		return t.end(ctx, c, d.Tool, schema.CallDenied, t.refused(*c, d), together)
	case gate.Ask:
		d.Reason = "APPROVAL_UNAVAILABLE"
		c.Reason = d.Reason
		d.Message += " Nobody can be asked from here. The operator can name it under tools.auto_approve."
		return t.end(ctx, c, d.Tool, schema.CallDenied, t.refused(*c, d), together)
	}
	if err := places.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer places.Release(1)
	call := dispatch.Call{ID: c.ID, Tool: d.Tool, Canonical: d.Canonical, EffectKey: c.EffectKey, Conversation: c.ConversationID, Attempt: c.Attempt + 1}
	out, known := t.recover(ctx, c, call)
	if !known {
		if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
			c.TraceID = sc.TraceID().String()
		}
		if err := t.Runs.Dispatch(ctx, t.lease, []*schema.ToolCall{c}); err != nil {
			return err
		}
		call.NotAfter = t.Now().Add(run.LeaseTime)
		out = dispatch.Do(ctx, call, func(p *toolv1.Progress) {
			t.live.Progress(&pb.ToolProgress{ToolCallId: c.ID, Name: c.Name, Message: p.Message, Done: p.Done, Total: p.Total})
		})
		if ctx.Err() != nil && out.Cancelled {
			return context.Cause(ctx)
		}
	}
	if len(d.Changes) > 0 {
		out.Content = withNotes(out.Content, d.Changes)
	}
	state := schema.CallDone
	if out.Unknown {
		state = schema.CallUnknown
	}
	return t.end(ctx, c, d.Tool, state, out, together)
}

// recover finds the outcome of a call that an owner before had begun, by what
// making it twice would mean. known is false when it may be made.
func (t *turn) recover(ctx context.Context, c *schema.ToolCall, call dispatch.Call) (out dispatch.Outcome, known bool) {
	if c.State != schema.CallDispatching {
		return out, false
	}
	switch c.Effect {
	case "pure", "keyed":
		return out, false
	case "queryable":
		return dispatch.Ask(ctx, call)
	default:
		return dispatch.Unknown("The server stopped while the call was being made."), true
	}
}

// withNotes tells the model what was mended in its arguments.
func withNotes(content string, changes []string) string {
	return result.WithMember(content, "argument_notes", changes)
}

// WireResult is a result as readers see it.
func WireResult(c schema.ToolCall) *pb.ToolResult {
	content := c.Result
	if content == "" {
		content = result.Failure(or(c.Reason, "NO_RESULT"), "The call was ended before it had a result.", false)
	}
	took := int32(0)
	if c.StartedAt > 0 && c.EndedAt > c.StartedAt {
		took = int32(min(c.EndedAt-c.StartedAt, 1<<31-1))
	}
	return &pb.ToolResult{
		Role: "tool", ToolCallId: c.ID, Name: c.Name, Content: content, IsError: c.IsError, DurationMs: took,
		Truncated: c.Truncated, ResultId: c.ID, TraceId: c.TraceID,
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
