package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/genai"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/account"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// chat is one model call on its way.
type chat struct {
	model   Model
	account *account.Call
	round   int
	// corrector says that it asks for the arguments of a call once more.
	corrector bool
	show      func(provider.Delta) // nil: nobody watches
}

// stream makes one model call and tells the account how it ended.
func (t *turn) stream(ctx context.Context, c chat, req provider.Request) (resp provider.Response, err error) {
	ctx, span := tracer().Start(ctx, genai.ChatSpanName(c.model.Name), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		genai.OperationName.String(genai.OperationChat),
		genai.ProviderName.String(c.model.Provider),
		genai.RequestModel.String(c.model.Name),
		genai.RequestMaxTokens.Int(req.MaxTokens),
		genai.ConversationID.String(t.run.ConversationID),
		genai.RequestStream.Bool(true),
		attribute.Int("nanoclaw.run.round", c.round),
		attribute.Bool("nanoclaw.chat.corrector", c.corrector),
	))
	defer span.End()
	begun := time.Now()
	done := genai.Chat{Provider: c.model.Provider, Model: c.model.Name}
	ended := errPanic // as long as nothing else is known
	defer func() { c.account.End(ended) }()
	resp, err = c.model.Streamer.Stream(ctx, req, func(d provider.Delta) error {
		if done.ToFirstChunk == 0 {
			done.ToFirstChunk = max(time.Since(begun), 1)
			span.AddEvent("first_token")
			span.SetAttributes(genai.ResponseTimeToFirst.Float64(done.ToFirstChunk.Seconds()))
			c.account.Taken()
		}
		if c.show != nil {
			c.show(d)
		}
		return nil
	})
	ended = err
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

// errPanic stands for the end of a call that panicked.
var errPanic = errors.New("the call panicked")

// show makes what a model writes in a round live.
func (t *turn) show(round int) func(provider.Delta) {
	var names []string
	var args []*strings.Builder
	return func(d provider.Delta) {
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
	}
}

func errorType(err error) string {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return string(e.Kind)
	}
	return genai.ErrorTypeOther
}
