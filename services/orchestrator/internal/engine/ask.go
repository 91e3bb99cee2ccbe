package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/genai"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// ask makes the model call of the next round and stores what came of it.
func (t *turn) ask(ctx context.Context, v verdict) error {
	round := len(t.rounds) + 1
	var events []*pb.RunEvent
	if t.restart {
		// Whoever watched may have read a part of this round from the owner
		// that is gone.
		events = append(events, restarted(round))
		t.restart = false
	}
	if v.reason != "" {
		events = append(events, v.notice(round, t.cfg))
	}
	req, cut := t.request(v)
	if cut && !t.noticed {
		events = append(events, notice("compaction", round, "Older parts of the conversation were left out: they do not fit into the model's window."))
		t.noticed = true
	}
	for attempt := 0; ; attempt++ {
		mc, err := t.begin(ctx, round, events)
		if err != nil {
			return err
		}
		t.open = &mc
		resp, err := t.stream(ctx, round, req)
		used(&mc, resp)
		if err == nil && empty(resp) {
			err = &runError{code: 503, reason: "EMPTY_ANSWER", retryable: true,
				message: fmt.Sprintf("The model %s answered neither text nor a tool call.", t.model.ID)}
		}
		if err == nil {
			return t.keep(ctx, mc, resp, v)
		}
		mc.Error = err.Error()
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		wait, again := t.again(attempt, err)
		events = nil
		if again {
			events = append(events, notice("retry", round, fmt.Sprintf("%s Trying again in %s.", err, wait.Round(100*time.Millisecond))))
			if _, thinking, text := t.live.Text(); thinking != "" || text != "" {
				events = append(events, restarted(round))
			}
		}
		if err := t.Runs.FailCall(ctx, t.lease, mc, events...); err != nil {
			return err
		}
		t.open, t.usage = nil, usageWith(t.usage, mc)
		if !again {
			return err
		}
		t.live.Publish(events)
		events = nil
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
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
func (t *turn) begin(ctx context.Context, round int, events []*pb.RunEvent) (schema.ModelCall, error) {
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
	mc, err := t.Runs.BeginCall(ctx, t.lease, t.run.UserID, t.model.ID, round, events...)
	if err == nil {
		t.live.Publish(events)
	}
	return mc, err
}

// request makes the prompt. A run that may call no more tools still lists them,
// since its history holds calls, but forbids to call any.
func (t *turn) request(v verdict) (req provider.Request, cut bool) {
	req.MaxTokens = t.cfg.MaxTokens
	if window := t.model.ContextWindow; window > 0 {
		req.MaxTokens = min(req.MaxTokens, window/4) // the rest is for what is asked
	}
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
	for _, m := range t.system {
		fixed += prompt.Tokens(m)
	}
	history, cut := prompt.Fit(prompt.WithRounds(t.history, t.rounds), fixed, t.model.ContextWindow)
	req.Messages = append(append(req.Messages, t.system...), history...)
	return req, cut
}

// stream makes one model call, and shows it live.
func (t *turn) stream(ctx context.Context, round int, req provider.Request) (provider.Response, error) {
	ctx, span := tracer().Start(ctx, genai.ChatSpanName(t.model.Name), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		genai.OperationName.String(genai.OperationChat),
		genai.ProviderName.String(t.model.Provider),
		genai.RequestModel.String(t.model.Name),
		genai.RequestMaxTokens.Int(req.MaxTokens),
		genai.ConversationID.String(t.run.ConversationID),
		genai.RequestStream.Bool(true),
		attribute.Int("nanoclaw.run.round", round),
	))
	defer span.End()
	var names []string
	var args []*strings.Builder
	begun := time.Now()
	done := genai.Chat{Provider: t.model.Provider, Model: t.model.Name}
	resp, err := t.model.Streamer.Stream(ctx, req, func(d provider.Delta) error {
		if done.ToFirstChunk == 0 {
			done.ToFirstChunk = max(time.Since(begun), 1)
			span.AddEvent("first_token")
			span.SetAttributes(genai.ResponseTimeToFirst.Float64(done.ToFirstChunk.Seconds()))
		}
		switch d.Kind {
		case provider.Reasoning:
			t.live.Think(round, d.Text)
		case provider.Text:
			t.live.Write(round, d.Text)
		case provider.CallPiece:
			for len(args) <= d.Call.Ordinal {
				args, names = append(args, &strings.Builder{}), append(names, "")
			}
			if d.Call.Name != "" {
				names[d.Call.Ordinal] = d.Call.Name
			}
			args[d.Call.Ordinal].WriteString(d.Call.Arguments)
			t.live.Args(round, d.Call.Ordinal, names[d.Call.Ordinal], args[d.Call.Ordinal].String(), t.Now())
		}
		return nil
	})
	done.Took, done.InputTokens, done.OutputTokens = time.Since(begun), resp.Usage.InputTokens, resp.Usage.OutputTokens
	if err != nil {
		done.ErrorType = errorType(err)
		span.SetStatus(otelcodes.Error, done.ErrorType)
		span.SetAttributes(genai.ErrorType.String(done.ErrorType))
	}
	genai.RecordChat(ctx, done)
	if err != nil {
		return resp, err
	}
	span.SetAttributes(
		genai.ResponseModel.String(resp.Model),
		genai.ResponseFinishReasons.StringSlice([]string{string(resp.Finish)}),
		genai.UsageInputTokens.Int(resp.Usage.InputTokens),
		genai.UsageOutputTokens.Int(resp.Usage.OutputTokens),
	)
	return resp, nil
}

func errorType(err error) string {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return string(e.Kind)
	}
	return genai.ErrorTypeOther
}

// empty reports an answer without anything in it.
func empty(r provider.Response) bool {
	return strings.TrimSpace(r.Text) == "" && len(r.Calls) == 0 && r.Finish != provider.FinishLength && r.Finish != provider.FinishContentFilter
}

// again says whether a failed model call is made once more, and when.
func (t *turn) again(attempt int, err error) (wait time.Duration, ok bool) {
	if attempt >= t.cfg.ModelRetries {
		return 0, false
	}
	wait = t.cfg.RetryWait << attempt
	wait = wait/2 + rand.N(wait/2+1)
	if e, ok := errors.AsType[*provider.Error](err); ok {
		if e.RetryAfter > t.cfg.MaxRetryWait {
			return 0, false // nobody waits that long
		}
		return max(wait, e.RetryAfter), e.Retryable()
	}
	if e, ok := errors.AsType[*runError](err); ok {
		return wait, e.retryable && attempt == 0
	}
	return 0, false
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
	if len(calls) > 0 {
		events = append(events, callsEvent(mc.Round, calls))
	}
	events = append(events, &pb.RunEvent{Event: &pb.RunEvent_Usage{Usage: &pb.RoundUsage{
		Round: int32(mc.Round), RoundUsage: usageOf(mc), Total: total,
	}}})
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
	args := c.Arguments
	if !json.Valid([]byte(args)) {
		args = cmp.Or(c.ArgsCanonical, "{}") // as it was mended, where that was possible
	}
	return &pb.ToolCall{Id: c.ID, Type: "function", Function: &pb.FunctionCall{Name: c.Name, Arguments: args}}
}

func clip(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "")
	}
	return s
}
