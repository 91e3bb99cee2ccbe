package engine

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pause"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// ask makes the model call of the next round and stores what came of it. A model
// that cannot answer is asked again as long as that may help, then those that are
// configured to answer in its place, each once.
func (t *turn) ask(ctx context.Context, v verdict) error {
	round := len(t.rounds) + 1
	order := t.order()
	m, left := order[0], order[1:]
	events := append(t.opening(round, v), t.returning(m, round)...)
	req, cut := t.request(m, v)
	for p := (patience{cfg: t.cfg}); ; {
		if cut && !t.noticed {
			events = append(events, notice("compaction", round, "Older parts of the conversation were left out: they do not fit into the model's window."))
			t.noticed = true
		}
		failed, err := t.attempt(ctx, m, round, req, v, &events)
		if err != nil || failed == nil {
			return err
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		next, rest, other := t.instead(m, left, failed)
		wait, again := p.again(failed)
		if again = again && !(other && m.Account.Open()); again {
			events = append(events, retrying(round, failed, wait))
		} else if other {
			events = append(events, t.failover(m, next, round, failed)...)
		}
		if _, thinking, text := t.live.Text(); (again || other) && (thinking != "" || text != "") {
			events = append(events, restarted(round))
		}
		if err := t.fail(ctx, &events); err != nil {
			return err
		}
		switch {
		case again:
			if err := pause.For(ctx, wait); err != nil {
				return err
			}
		case other:
			t.left(m)
			m, left, p = next, rest, patience{cfg: t.cfg}
			req, cut = t.request(m, v)
		default:
			return failed
		}
	}
}

// opening are the events that come before the first model call of a round.
func (t *turn) opening(round int, v verdict) (events []*pb.RunEvent) {
	if t.restart {
		// Whoever watched may have read a part of this round from the owner
		// that is gone.
		events = append(events, restarted(round))
		t.restart = false
	}
	if v.reason != "" {
		events = append(events, v.notice(round, t.cfg))
	}
	return events
}

// attempt makes one model call and stores its answer. failed is why there is none:
// the call stays open, if it was made at all. The events are logged and gone when
// the call is begun.
func (t *turn) attempt(ctx context.Context, m Model, round int, req provider.Request, v verdict, events *[]*pb.RunEvent) (failed, err error) {
	account, refused := m.Account.Enter()
	if refused != nil {
		if t.call != nil { // begun with the run, and not made
			mc := *t.call
			mc.Error = refused.Error()
			t.open, t.call = &mc, nil
		}
		return refused, nil
	}
	mc, err := t.begin(ctx, m, round, *events)
	if err != nil {
		account.End(context.Canceled)
		return nil, err
	}
	*events, t.open, t.model = nil, &mc, m
	resp, failed := t.stream(ctx, chat{model: m, account: account, round: round, show: t.show(round)}, req)
	used(&mc, resp)
	if failed == nil && empty(resp) {
		failed = &runError{code: 503, reason: reasonEmpty, retryable: true,
			message: fmt.Sprintf("The model %s answered neither text nor a tool call.", m.ID)}
	}
	if failed != nil {
		mc.Error = failed.Error()
		return failed, nil
	}
	delete(t.failed, m.ID)
	return nil, t.keep(ctx, mc, resp, v)
}

// reasonEmpty is the reason of a run whose model said nothing.
const reasonEmpty = "EMPTY_ANSWER"

// fail logs the events, and with them ends the model call that gave no answer, if
// one was begun.
func (t *turn) fail(ctx context.Context, events *[]*pb.RunEvent) (err error) {
	switch {
	case t.open != nil:
		err = t.Runs.FailCall(ctx, t.lease, *t.open, *events...)
	case len(*events) > 0:
		err = t.Runs.Commit(ctx, t.lease, nil, *events...)
	}
	if err != nil {
		return err
	}
	if t.open != nil {
		t.usage, t.open = usageWith(t.usage, *t.open), nil
	}
	t.live.Publish(*events)
	*events = nil
	return nil
}

func restarted(round int) *pb.RunEvent {
	return &pb.RunEvent{Event: &pb.RunEvent_RoundRestarted{RoundRestarted: &pb.RoundRestarted{Round: int32(round)}}}
}

func (v verdict) notice(round int, cfg Config) *pb.RunEvent {
	switch {
	case v.equal:
		return notice("breaker", round, fmt.Sprintf("%s was called with the same arguments in %d rounds; no more tools are called.", v.tool, cfg.BreakAfter))
	case v.reason == finishBreaker:
		return notice("breaker", round, fmt.Sprintf("%s failed in %d rounds in a row; no more tools are called.", v.tool, cfg.BreakAfter))
	default:
		return notice("limit", round, fmt.Sprintf("Tools were called in %d rounds, which is the limit; no more tools are called.", cfg.MaxIterations))
	}
}

// begin writes the model call ahead. The first of a run was written with it.
func (t *turn) begin(ctx context.Context, m Model, round int, events []*pb.RunEvent) (schema.ModelCall, error) {
	if first := t.call; first != nil {
		t.call = nil
		if len(events) == 0 {
			return *first, nil
		}
		err := t.Runs.Commit(ctx, t.lease, nil, events...)
		if err == nil {
			t.live.Publish(events)
		}
		return *first, err
	}
	mc, err := t.Runs.BeginCall(ctx, t.lease, t.run.UserID, m.ID, round, events...)
	if err == nil {
		t.live.Publish(events)
	}
	return mc, err
}

// request makes the prompt for a model. A run that may call no more tools still lists them,
// since its history holds calls, but forbids to call any.
func (t *turn) request(m Model, v verdict) (req provider.Request, cut bool) {
	req.MaxTokens = t.maxTokens(m)
	fixed := req.MaxTokens
	if t.run.ToolsEnabled {
		for _, tool := range t.Tools.Snapshot().All() {
			if tool.Enabled {
				req.Tools = append(req.Tools, provider.ToolSpec{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters})
				fixed += prompt.TextTokens(tool.Description) + prompt.TextTokens(string(tool.Parameters))
			}
		}
		req.ToolChoiceNone = v.reason != "" && len(req.Tools) > 0
	}
	for _, s := range t.system {
		fixed += prompt.Tokens(s)
	}
	own := t.own(m)
	history, cut := prompt.Fit(prompt.WithRounds(t.historyFor(m, own), t.rounds, own), fixed, m.ContextWindow)
	req.Messages = append(append(req.Messages, t.system...), history...)
	return req, cut
}

// maxTokens bounds an answer of a model: the rest of its window is for what is
// asked.
func (t *turn) maxTokens(m Model) int {
	if m.ContextWindow > 0 {
		return min(t.cfg.MaxTokens, m.ContextWindow/4)
	}
	return t.cfg.MaxTokens
}

// own tells whose answers came from the endpoint of a model.
func (t *turn) own(m Model) prompt.Own {
	return func(id string) bool {
		other, ok := t.Models.Model(id)
		return ok && other.Endpoint == m.Endpoint
	}
}

// historyFor is what was said up to the question, for a model. It is kept for the
// rounds of the run at the same endpoint.
func (t *turn) historyFor(m Model, own prompt.Own) []provider.Message {
	if t.history == nil || t.endpoint != m.Endpoint {
		t.history, t.endpoint = prompt.History(t.branch, t.earlier, own), m.Endpoint
	}
	return t.history
}

// empty reports an answer without anything in it.
func empty(r provider.Response) bool {
	return strings.TrimSpace(r.Text) == "" && len(r.Calls) == 0 && r.Finish != provider.FinishLength && r.Finish != provider.FinishContentFilter
}

// keep stores the answer of a model call with the calls that it proposed.
func (t *turn) keep(ctx context.Context, mc schema.ModelCall, resp provider.Response, v verdict) error {
	mc.State = schema.ModelCallDone
	mc.Text, mc.Reasoning, mc.ReasoningField, mc.Extra = resp.Text, resp.Reasoning, resp.ReasoningField, string(resp.Extra)
	mc.Finish = string(resp.Finish)
	var calls []schema.ToolCall
	if v.reason == "" && t.run.ToolsEnabled {
		calls = t.plan(mc.Round, resp.Calls)
	}
	total := usageWith(t.usage, mc)
	var events []*pb.RunEvent
	if mc.Reasoning != "" {
		events = append(events, thinkingEvent(mc.Round, mc.Reasoning))
	}
	if mc.Text != "" {
		events = append(events, messageEvent(mc.Round, mc.Text))
	}
	if len(calls) > 0 && !uncorrected(calls) {
		events = append(events, callsEvent(mc.Round, calls))
	}
	events = append(events, usageEvent(mc.Round, usageOf(mc), total))
	if resp.Finish == provider.FinishLength {
		events = append(events, notice("length", mc.Round, fmt.Sprintf("The answer reached %d tokens and was cut.", t.cfg.MaxTokens)))
	}
	if len(calls) == 0 && len(resp.Calls) > 0 {
		events = append(events, notice("limit", mc.Round, "The model asked for tools again, which were not called."))
	}
	if err := t.Runs.FinishCall(ctx, t.lease, mc, calls, events...); err != nil {
		return err
	}
	t.live.Publish(events)
	t.open, t.usage = nil, total
	t.rounds = append(t.rounds, prompt.Round{Call: mc, Tools: calls})
	return nil
}

// used puts what a model call used into its row.
func used(mc *schema.ModelCall, resp provider.Response) {
	u := resp.Usage
	mc.RequestID = clip(resp.RequestID, 200)
	mc.InputTokens, mc.OutputTokens, mc.CachedTokens = u.InputTokens, u.OutputTokens, u.CachedTokens
	mc.ReasoningTokens, mc.UsageEstimated = u.ReasoningTokens, u.Estimated
}

func usageEvent(round int, ofRound, total *pb.Usage) *pb.RunEvent {
	return &pb.RunEvent{Event: &pb.RunEvent_Usage{Usage: &pb.RoundUsage{Round: int32(round), RoundUsage: ofRound, Total: total}}}
}

func usageOf(c schema.ModelCall) *pb.Usage {
	return usageWith(&pb.Usage{}, c)
}

// usageWith is a usage and that of one more model call.
func usageWith(u *pb.Usage, c schema.ModelCall) *pb.Usage {
	u = proto.Clone(u).(*pb.Usage)
	run.AddUsage(u, c)
	return u
}

func callsEvent(round int, calls []schema.ToolCall) *pb.RunEvent {
	out := &pb.ToolCalls{Round: int32(round)}
	for _, c := range calls {
		out.Calls = append(out.Calls, WireCall(c))
	}
	return &pb.RunEvent{Event: &pb.RunEvent_ToolCall{ToolCall: out}}
}

// WireCall is a call as readers see it.
func WireCall(c schema.ToolCall) *pb.ToolCall {
	return &pb.ToolCall{Id: c.ID, Type: "function", Function: &pb.FunctionCall{Name: c.Name, Arguments: prompt.Arguments(c)}}
}

func clip(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "")
	}
	return s
}
