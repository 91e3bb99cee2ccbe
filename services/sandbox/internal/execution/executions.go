package execution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/output"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// Why an execution could not be had.
var (
	// ErrKeyReused: the key is that of another program.
	ErrKeyReused = errors.New("the key belongs to another program")
	// ErrElsewhere: another process runs the execution of the key.
	ErrElsewhere = errors.New("another process runs it")
	// ErrShutdown: the service ends.
	ErrShutdown = errors.New("the service shuts down")
	// ErrKeys: what is remembered of executions cannot be reached.
	ErrKeys = errors.New("executions cannot be remembered")
)

// keyTimeout bounds one operation on the store of keys.
const keyTimeout = 10 * time.Second

// tool stands for Execute among the tools in the store of keys.
const tool = "Execute"

// Executions are the programs that run. It is safe for concurrent use.
type Executions struct {
	runner *Runner
	keys   toolkit.KeyStore
	log    *slog.Logger

	mu     sync.Mutex
	live   map[toolkit.Key]*Execution // those with a key
	all    map[*Execution]struct{}
	closed bool
	wg     sync.WaitGroup
}

// NewExecutions makes a set without executions.
func NewExecutions(r *Runner, keys toolkit.KeyStore) *Executions {
	return &Executions{runner: r, keys: keys, log: r.Log, live: map[toolkit.Key]*Execution{}, all: map[*Execution]struct{}{}}
}

// Execution is a program that runs or has ended, and may have several readers.
type Execution struct {
	// Output is what it writes. Nothing of it is kept of an execution that ended
	// before it was asked for, but in its result.
	Output *output.Capture

	hash    string
	cancel  context.CancelCauseFunc
	started chan struct{}
	once    sync.Once
	queue   time.Duration
	start   time.Duration
	done    chan struct{}
	result  Result
	err     error
}

// Started is closed when the program has started.
func (x *Execution) Started() <-chan struct{} { return x.started }

// Done is closed when it has ended or was refused.
func (x *Execution) Done() <-chan struct{} { return x.done }

// Times are the time in the queue and the time to make the sandbox, once the
// program has started.
func (x *Execution) Times() (queue, start time.Duration) { return x.queue, x.start }

// Result is how it ended, once it has. The error is one of [Runner.Run], or one
// of those above.
func (x *Execution) Result() (Result, error) { return x.result, x.err }

func (x *Execution) begin(queue, start time.Duration) {
	x.once.Do(func() {
		x.queue, x.start = queue, start
		close(x.started)
	})
}

// Start starts a program, or finds the one of the same key and caller. Without a
// key the program ends with ctx; with one it goes on until it ends by itself or
// the service does, and its end is remembered.
func (e *Executions) Start(ctx context.Context, caller, effectKey string, req Request) (*Execution, error) {
	x, r, err := e.Attach(ctx, caller, effectKey, req)
	if err == nil {
		r.Close()
	}
	return x, err
}

// Attach is Start for a caller who reads the output: the reader misses nothing
// of a program that it starts. The reader must be closed.
func (e *Executions) Attach(ctx context.Context, caller, effectKey string, req Request) (*Execution, *output.Reader, error) {
	hash, err := req.hash()
	if err != nil {
		return nil, nil, err
	}
	key := toolkit.Key{Caller: caller, Tool: tool, EffectKey: effectKey}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, nil, ErrShutdown
	}
	if effectKey != "" {
		if x := e.live[key]; x != nil {
			if x.hash != hash {
				return nil, nil, ErrKeyReused
			}
			return x, x.Output.Attach(), nil
		}
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	x := &Execution{
		Output: output.NewCapture(), hash: hash, cancel: cancel,
		started: make(chan struct{}), done: make(chan struct{}),
	}
	reader := x.Output.Attach()
	e.all[x] = struct{}{}
	if effectKey != "" {
		e.live[key] = x
	}
	e.wg.Go(func() {
		defer cancel(nil)
		e.serve(ctx, key, req, x)
	})
	return x, reader, nil
}

// serve brings an execution to its end.
func (e *Executions) serve(ctx context.Context, key toolkit.Key, req Request, x *Execution) {
	if key.EffectKey == "" {
		x.result, x.err = e.run(ctx, req, x)
	} else {
		x.result, x.err = e.once(ctx, key, req, x)
	}
	x.Output.End()
	e.mu.Lock()
	delete(e.all, x)
	if e.live[key] == x {
		delete(e.live, key)
	}
	e.mu.Unlock()
	if x.err == nil {
		x.begin(x.result.Queue, x.result.Start)
	}
	close(x.done)
}

func (e *Executions) run(ctx context.Context, req Request, x *Execution) (Result, error) {
	result, err := e.runner.Run(ctx, req, x.Output, Events{Started: x.begin})
	killed := err == nil && result.Status == isolate.StatusCancelled
	if killed && ctx.Err() == nil || (killed || err != nil) && errors.Is(context.Cause(ctx), ErrShutdown) {
		return Result{}, ErrShutdown
	}
	return result, err
}

// once runs the program of a key unless that was done before.
func (e *Executions) once(ctx context.Context, key toolkit.Key, req Request, x *Execution) (Result, error) {
	known, begun, err := e.begin(ctx, key, x.hash)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	if !begun {
		return recall(known, x.hash)
	}
	result, err := e.run(ctx, req, x)
	end := toolkit.Record{State: toolkit.StateFinished, ArgsHash: x.hash}
	switch {
	case errors.Is(err, ErrShutdown):
		end.State = toolkit.StateLost
	case err != nil: // it was not run
		end.State = toolkit.StateUnknown
	default:
		text, encodeErr := json.Marshal(result)
		if encodeErr != nil {
			return Result{}, fmt.Errorf("write the result of an execution: %w", encodeErr)
		}
		end.Result = &toolkit.StoredResult{ContentJSON: string(text), IsError: result.Failed()}
	}
	e.finish(ctx, key, end)
	return result, err
}

func (e *Executions) begin(ctx context.Context, key toolkit.Key, hash string) (toolkit.Record, bool, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer stop()
	return e.keys.Begin(ctx, key, hash)
}

// finish remembers how an execution ended. When that fails its readers have the
// result all the same; for those who come later it seems to run until this
// process ends, and then to be lost.
func (e *Executions) finish(ctx context.Context, key toolkit.Key, end toolkit.Record) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer stop()
	if err := e.keys.Finish(ctx, key, end); err != nil {
		e.log.ErrorContext(ctx, "the end of an execution was not recorded", "effect_key", key.EffectKey, "state", end.State, "error", err)
	}
}

// recall answers what is known of a key.
func recall(known toolkit.Record, hash string) (Result, error) {
	if known.ArgsHash != hash {
		return Result{}, ErrKeyReused
	}
	switch known.State {
	case toolkit.StateFinished:
		var r Result
		if err := json.Unmarshal([]byte(known.Result.ContentJSON), &r); err != nil {
			return Result{}, fmt.Errorf("read the result of an execution: %w", err)
		}
		return r, nil
	case toolkit.StateRunning:
		return Result{}, ErrElsewhere
	}
	return lost(), nil
}

// hash is equal for equal programs.
func (q Request) hash() (string, error) {
	text, err := json.Marshal([]any{q.Language, q.Code, q.Stdin, q.Workspace, q.Timeout})
	if err != nil {
		return "", fmt.Errorf("name a program: %w", err)
	}
	return toolkit.Hash(text), nil
}

// Close refuses new programs, ends the running ones and waits for their end.
func (e *Executions) Close() {
	e.mu.Lock()
	e.closed = true
	for x := range e.all {
		x.cancel(ErrShutdown)
	}
	e.mu.Unlock()
	e.wg.Wait()
}
