package toolkit

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
)

// Call is what a tool knows of the call it serves.
type Call struct {
	// Name of the tool.
	Name string
	// EffectKey is equal for calls that must have one effect. It may be empty for
	// pure and opaque tools.
	EffectKey string
	// ArgumentsJSON is the canonical JSON text of the checked arguments.
	ArgumentsJSON string
	// Changes tells what was repaired in the arguments, for the result's notes.
	Changes []string
	// Conversation is the id of the conversation that the call is made for; empty
	// for a call that is made without one.
	Conversation string

	running *running
}

// Progress tells those who watch how far the call has come: words for a person,
// what is done, and all there is to do (0: not known). It never blocks; a
// watcher who is slow sees only the latest.
func (c *Call) Progress(message string, done, total float64) {
	c.running.setProgress(&toolv1.Progress{Message: validText(message), Done: done, Total: total})
}

// Why a call was ended from outside; the cause of its context.
var (
	errTimeout   = errors.New("the tool's time is over")
	errCancelled = errors.New("cancelled by CancelCall")
	errShutdown  = errors.New("the provider shuts down")
)

// outcome is how a call ended: a result, or a status for its watchers.
type outcome struct {
	result *StoredResult
	status *status.Status
	// state is what a key store is to remember.
	state State
}

// running is one call at work, with any number of streams that watch it.
type running struct {
	argsHash string
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when outcome is set

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change of progress
	progress *toolv1.Progress
	outcome  outcome
}

func newRunning(argsHash string, cancel context.CancelCauseFunc) *running {
	return &running{argsHash: argsHash, cancel: cancel, done: make(chan struct{}), changed: make(chan struct{})}
}

func (r *running) setProgress(p *toolv1.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = p
	close(r.changed)
	r.changed = make(chan struct{})
}

// latest gives the newest progress and a channel that closes when it is no more.
func (r *running) latest() (*toolv1.Progress, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress, r.changed
}

func (r *running) end(o outcome) {
	r.outcome = o
	close(r.done)
}

// runTool runs the tool and always returns an outcome: soon after ctx ends, even
// if the tool does not. returned closes when the tool itself is back.
func (p *Provider) runTool(ctx context.Context, t *tool, call *Call) (o outcome, returned <-chan struct{}) {
	answers := make(chan outcome, 1)
	back := make(chan struct{})
	go func() {
		defer close(back)
		answers <- p.answer(ctx, t, call)
	}()
	select {
	case o = <-answers:
		return o, back
	case <-ctx.Done():
	}
	grace, stop := context.WithTimeout(context.WithoutCancel(ctx), handlerGrace)
	defer stop()
	select {
	case o = <-answers:
	case <-grace.Done():
		p.cfg.Logger.WarnContext(ctx, "tool does not stop", "tool", call.Name, "cause", context.Cause(ctx))
		o = interrupted(ctx, t)
	}
	return o, back
}

// answer runs the tool to its end in this goroutine.
func (p *Provider) answer(ctx context.Context, t *tool, call *Call) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			p.cfg.Logger.ErrorContext(ctx, "tool panicked", "tool", call.Name, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			o = internal()
		}
	}()
	result, err := t.run(ctx, call)
	if bad, ok := errors.AsType[errBadArguments](err); ok {
		result, err = Fail(ReasonInvalidArguments, bad.Error(), false), nil
	}
	if err != nil {
		return p.failed(ctx, t, call, err)
	}
	stored, err := result.store(p.cfg.MaxResultBytes)
	if err != nil {
		p.cfg.Logger.ErrorContext(ctx, "tool made a bad result", "tool", call.Name, "error", err)
		return internal()
	}
	return outcome{result: &stored, state: StateFinished}
}

func (p *Provider) failed(ctx context.Context, t *tool, call *Call, err error) outcome {
	if ctx.Err() != nil {
		return interrupted(ctx, t)
	}
	if s, ok := statusOf(err); ok {
		return outcome{status: s, state: StateUnknown}
	}
	p.cfg.Logger.ErrorContext(ctx, "tool failed", "tool", call.Name, "error", err)
	return internal()
}

func internal() outcome {
	return outcome{status: newStatus(codes.Internal, ReasonInternal, internalMessage), state: StateLost}
}

// interrupted is the outcome of a call that was ended from outside.
func interrupted(ctx context.Context, t *tool) outcome {
	pure := t.effect == EffectPure
	doubt := ""
	if !pure {
		doubt = "; it may have taken effect"
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTimeout), errors.Is(cause, context.DeadlineExceeded):
		return finished(Fail(ReasonTimeout, "the tool did not finish in time"+doubt, pure))
	case errors.Is(cause, errShutdown):
		return outcome{status: shuttingDown(), state: StateLost}
	}
	return finished(Fail(ReasonCancelled, "the call was cancelled"+doubt, false))
}

func finished(r Result) outcome {
	stored, err := r.store(DefaultMaxResultBytes)
	if err != nil {
		return internal()
	}
	return outcome{result: &stored, state: StateFinished}
}

func shuttingDown() *status.Status {
	return newStatus(codes.Unavailable, ReasonShuttingDown, "the provider is shutting down; try again")
}
