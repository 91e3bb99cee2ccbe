package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/genai"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/taint"
)

// tracer is taken at each use: the provider is set up after this package.
func tracer() trace.Tracer { return otel.Tracer("nanoclaw/orchestrator") }

// agentName is how traces and metrics call what answers.
const agentName = "nanoclaw"

// writeTime bounds a write that must be made although the run's context ended,
// from that end.
const writeTime = 20 * time.Second

// turn is a run while it is driven.
type turn struct {
	*Engine
	*job
	begun    time.Time                 // to be driven by this process
	first    Model                     // that the run is for
	model    Model                     // that was asked last
	failed   map[string]bool           // models that could not answer, by id
	system   []provider.Message        // before the history
	branch   []schema.Message          // up to and with the question
	earlier  map[string][]prompt.Round // of the runs of the branch
	history  []provider.Message        // made of both, for the endpoint
	endpoint string
	rounds   []prompt.Round    // of this run
	call     *schema.ModelCall // begun with the run itself
	open     *schema.ModelCall // begun, and how it ended is not stored yet
	origins  taint.Set
	usage    *pb.Usage // of the model calls that ended, well or not
	noticed  bool      // that the history was cut
	restart  bool      // an owner that is gone had begun the next round
}

// drive brings a run to its end, or gives it up.
func (e *Engine) drive(ctx context.Context, j *job, st *run.Started) {
	ctx = auth.NewContext(ctx, auth.UserPrincipal(j.run.UserID, "tools"))
	if st == nil && j.run.TraceParent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": j.run.TraceParent})
	}
	left, err := e.timeLeft(ctx, j, st)
	ctx, stop := context.WithTimeout(ctx, left)
	defer stop()
	ctx, span := tracer().Start(ctx, genai.InvokeAgentSpanName(agentName), trace.WithAttributes(
		genai.OperationName.String(genai.OperationInvokeAgent),
		genai.AgentName.String(agentName),
		genai.ConversationID.String(j.run.ConversationID),
		genai.RequestModel.String(j.run.Model),
		genai.AgentEpisodeID.String(j.run.ID),
		attribute.String("nanoclaw.run.id", j.run.ID),
		attribute.Int("nanoclaw.run.takeovers", j.run.Takeovers),
	))
	defer span.End()
	t := &turn{Engine: e, job: j, begun: time.Now(), usage: &pb.Usage{}, failed: map[string]bool{}}
	if st != nil {
		t.call = &st.Call
	}
	if err == nil {
		err = guard(func() error { return run.Patiently(ctx, func() error { return t.load(ctx) }) })
	}
	if err == nil {
		err = guard(func() error { return t.advance(ctx) })
	}
	if err != nil {
		t.stopped(ctx, span, err)
	}
}

// timeLeft is what is left of a run's time, which begins with its first model
// call: a run may wait in the queue for as long as it takes.
func (e *Engine) timeLeft(ctx context.Context, j *job, st *run.Started) (time.Duration, error) {
	if st != nil {
		return e.cfg.RunTimeout, nil
	}
	var begun time.Time
	err := run.Patiently(ctx, func() (err error) {
		begun, err = e.Runs.Begun(ctx, j.run.ID)
		return err
	})
	if err != nil || begun.IsZero() {
		return e.cfg.RunTimeout, err
	}
	return begun.Add(e.cfg.RunTimeout).Sub(e.Now()), nil
}

// guard turns a panic into an error: one run must not take the others with it.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// stopped ends a run that did not come to its end by itself.
func (t *turn) stopped(ctx context.Context, span trace.Span, err error) {
	cause := context.Cause(ctx)
	// The run's own context may have ended; what is left to write must be.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	log := t.Log.With("run", t.run.ID)
	switch {
	case errors.Is(cause, errLost), errors.Is(err, run.ErrFenced):
		log.WarnContext(ctx, "run was given up: its lease is lost")
		if t.open != nil {
			if err := t.Runs.Book(ctx, *t.open); err != nil {
				log.WarnContext(ctx, "what the last model call used was not booked", "error", err)
			}
		}
		return
	case errors.Is(cause, errReleased):
		if t.open != nil { // what it used is paid for
			if err := t.Runs.FailCall(ctx, t.lease, *t.open); err != nil {
				log.WarnContext(ctx, "the last model call was not ended", "error", err)
			}
		}
		if err := t.Runs.Release(ctx, t.lease); err != nil {
			log.WarnContext(ctx, "lease was not released", "error", err)
		}
		return
	case errors.Is(cause, errCancelled):
		err = t.finish(ctx, run.End{Status: schema.RunCancelled, FinishReason: finishCancelled})
	default:
		failure := t.failure(err)
		if errors.Is(cause, context.DeadlineExceeded) {
			failure = &pb.RunError{Code: 504, Reason: "RUN_TIMEOUT", Retryable: true,
				Message: fmt.Sprintf("The run took longer than %s and was ended.", t.cfg.RunTimeout)}
		}
		span.SetStatus(otelcodes.Error, failure.Reason)
		span.SetAttributes(genai.ErrorType.String(failure.Reason))
		log.WarnContext(ctx, "run failed", "reason", failure.Reason, "error", err)
		failure.TraceId = t.run.TraceID
		err = t.finish(ctx, run.End{Status: schema.RunFailed, Error: failure})
	}
	if err != nil && !errors.Is(err, run.ErrFenced) && ctx.Err() == nil {
		// The database is there, since a commit waits for one that is not, and
		// refuses something of what it was given. Whoever took the run over would
		// fare no better.
		log.ErrorContext(ctx, "end of the run was not stored; it is ended without its text", "error", err)
		err = t.finishBare(ctx)
	}
	if err != nil && !errors.Is(err, run.ErrFenced) {
		// The lease lapses and the run is taken over.
		log.ErrorContext(ctx, "end of the run was not stored", "error", err)
	}
}

// load reads what the run stands on.
func (t *turn) load(ctx context.Context) error {
	var ok bool
	if t.first, ok = t.Models.Model(t.run.Model); !ok {
		return &runError{code: 409, reason: "MODEL_NOT_CONFIGURED",
			message: fmt.Sprintf("The model %q is not in the configuration any more.", t.run.Model)}
	}
	t.model = t.first
	c, err := t.Conversations.Get(ctx, t.run.UserID, t.run.ConversationID)
	if err != nil {
		return err
	}
	if t.branch, err = t.Conversations.Branch(ctx, c.ID, t.run.UserMessageID); err != nil {
		return err
	}
	var runs []string
	t.origins = t.run.Origins
	for _, m := range t.branch {
		if m.RunID != "" {
			runs = append(runs, m.RunID)
		}
		t.origins = t.origins.With(m.Origins...)
	}
	calls, tools, err := t.Runs.Rounds(ctx, false, runs...)
	if err != nil {
		return err
	}
	t.system = prompt.System(c.SystemPrompt)
	t.earlier = prompt.ByRun(calls, tools)
	if t.call == nil { // not new: something may be made of it
		if calls, tools, err = t.Runs.Rounds(ctx, true, t.run.ID); err != nil {
			return err
		}
		t.rounds = prompt.ByRun(calls, tools)[t.run.ID]
		if n := len(t.rounds); n > 0 {
			if m, ok := t.Models.Model(t.rounds[n-1].Call.Model); ok {
				t.model = m
			}
		}
		t.restart = t.run.Rounds > len(t.rounds)
		used, err := t.Runs.Used(ctx, t.run.ID)
		if err != nil {
			return err
		}
		t.usage = used[t.run.ID]
	}
	return nil
}

// advance goes from round to round until the run has ended.
func (t *turn) advance(ctx context.Context) error {
	if t.run.CancelRequested {
		t.cancel(errCancelled)
	}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if n := len(t.rounds); n > 0 {
			last := &t.rounds[n-1]
			if len(last.Tools) == 0 {
				return t.answered(ctx, last.Call)
			}
			if err := t.correct(ctx, last); err != nil {
				return err
			}
			if err := t.runTools(ctx, last); err != nil {
				return err
			}
		}
		v := judge(t.rounds, t.Tools.Snapshot(), t.cfg)
		if err := t.ask(ctx, v); err != nil {
			return err
		}
	}
}

// answered ends a run whose last round is an answer.
func (t *turn) answered(ctx context.Context, last schema.ModelCall) error {
	end := run.End{Status: schema.RunCompleted, FinishReason: finishStop}
	if v := judge(t.rounds[:len(t.rounds)-1], t.Tools.Snapshot(), t.cfg); v.reason != "" {
		end.FinishReason = v.reason
	}
	switch provider.Finish(last.Finish) {
	case provider.FinishLength:
		end.FinishReason = finishLength
	case provider.FinishContentFilter:
		end.Events = append(end.Events, notice("filter", last.Round, "The provider's content filter cut this answer."))
	}
	return t.finish(ctx, end)
}

// finish stores the end of the run. What was streamed of an unfinished round is
// kept, as everybody saw it.
func (t *turn) finish(ctx context.Context, end run.End) error {
	round, thinking, text := t.live.Text()
	end.Content = text
	if n := len(t.rounds); n > 0 && text == "" {
		end.Content = t.rounds[n-1].Call.Text
	}
	var shown []*pb.RunEvent
	if thinking != "" {
		shown = append(shown, thinkingEvent(round, thinking))
	}
	if text != "" {
		shown = append(shown, messageEvent(round, text))
	}
	end.Call = t.open
	return t.storeEnd(ctx, end, shown)
}

// finishBare ends a run whose end could not be stored as it was: as failed, and
// without anything that somebody else said. Readers drop what they saw of the
// unfinished round.
func (t *turn) finishBare(ctx context.Context) error {
	end := run.End{Status: schema.RunFailed, Error: t.failure(nil)}
	end.Error.TraceId = t.run.TraceID
	var dropped []*pb.RunEvent
	if round, thinking, text := t.live.Text(); thinking != "" || text != "" {
		dropped = append(dropped, restarted(round))
	}
	if t.open != nil {
		c := *t.open
		c.Error, c.RequestID = "", ""
		end.Call = &c
	}
	return t.storeEnd(ctx, end, dropped)
}

// storeEnd stores an end with what follows from the state of the run; text are
// the events of the unfinished round.
func (t *turn) storeEnd(ctx context.Context, end run.End, text []*pb.RunEvent) error {
	end.Usage, end.Origins = t.usage, t.origins
	if end.Call != nil {
		end.Usage = usageWith(t.usage, *end.Call)
	}
	if n := len(t.rounds); n > 0 {
		end.Model = t.rounds[n-1].Call.Model
		end.Events = append(end.Events, cutShort(t.rounds[n-1])...)
	}
	if t.restart {
		end.Events = append(end.Events, restarted(len(t.rounds)+1))
	}
	end.Events = append(end.Events, text...)
	events, err := t.Runs.Finish(ctx, t.lease, t.run, end)
	if err != nil {
		return err
	}
	genai.RecordAgent(ctx, agentName, t.run.Model, time.Since(t.begun), end.Error.GetReason())
	t.live.Publish(events)
	return nil
}

// cutShort gives every call of a round that the run did not wait for its
// result: results are logged up to the first call that has none. The calls
// themselves are logged before when they were to be corrected.
func cutShort(r prompt.Round) []*pb.RunEvent {
	first := slices.IndexFunc(r.Tools, func(c schema.ToolCall) bool { return !c.Terminal() })
	if first < 0 {
		return nil
	}
	var events []*pb.RunEvent
	if uncorrected(r.Tools) {
		events = append(events, callsEvent(r.Call.Round, r.Tools))
	}
	out := &pb.ToolResults{Round: int32(r.Call.Round)}
	for _, c := range r.Tools[first:] {
		if !c.Terminal() {
			c.State, c.Reason = c.Ending()
			c.IsError, c.Result = true, "" // what it may have was not stored
		}
		out.Results = append(out.Results, WireResult(c))
	}
	return append(events, &pb.RunEvent{Event: &pb.RunEvent_ToolResult{ToolResult: out}})
}

func thinkingEvent(round int, text string) *pb.RunEvent {
	return &pb.RunEvent{Event: &pb.RunEvent_Thinking{Thinking: &pb.TextPiece{Content: text, Round: int32(round)}}}
}

func messageEvent(round int, text string) *pb.RunEvent {
	return &pb.RunEvent{Event: &pb.RunEvent_Message{Message: &pb.TextPiece{Content: text, Round: int32(round)}}}
}

func notice(kind string, round int, message string) *pb.RunEvent {
	return &pb.RunEvent{Event: &pb.RunEvent_Notice{Notice: &pb.Notice{Kind: kind, Round: int32(round), Message: message}}}
}
