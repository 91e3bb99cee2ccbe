package sandbox

import (
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/admission"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
)

// Reasons of a program that was not run.
const (
	// ReasonUnavailable: the isolation that is required cannot be had.
	ReasonUnavailable = "SANDBOX_UNAVAILABLE"
	// ReasonNoLanguage: the machine has no interpreter for the language.
	ReasonNoLanguage = "LANGUAGE_UNAVAILABLE"
	// ReasonBusy: too many programs wait already.
	ReasonBusy = "SANDBOX_BUSY"
	// ReasonKeyReused: the effect key is that of another program.
	ReasonKeyReused = "KEY_REUSED"
	// ReasonElsewhere: another process runs the execution of the key.
	ReasonElsewhere = "EXECUTION_RUNS_ELSEWHERE"
	// ReasonKeyStore: executions cannot be remembered now.
	ReasonKeyStore = "KEY_STORE"
	// ReasonShuttingDown: the service ends; with a key, ask again.
	ReasonShuttingDown = "SHUTTING_DOWN"
	// ReasonSandboxError: the sandbox failed, not the program.
	ReasonSandboxError = "SANDBOX_ERROR"
	// ReasonLost: the service ended before the program.
	ReasonLost = "EXECUTION_LOST"
)

// retrySoon is when an execution that runs elsewhere may be asked for again.
const retrySoon = time.Second

// interpreters are the packages that bring a language.
var interpreters = map[string]string{
	execution.Python: "apt-get install python3", execution.JavaScript: "apt-get install nodejs", execution.Bash: "apt-get install bash",
}

// shape gives a refusal the code and reason that callers decide by.
func shape(err error) error {
	if unavailable, ok := errors.AsType[*isolate.Unavailable](err); ok {
		return rpcerr.New(codes.FailedPrecondition, ReasonUnavailable, "%s", unavailable).
			WithMeta("missing", strings.Join(unavailable.Names(), ",")).WithCause(err)
	}
	if missing, ok := errors.AsType[*execution.NoLanguageError](err); ok {
		return rpcerr.New(codes.FailedPrecondition, ReasonNoLanguage,
			"%s; an operator can change that (%s). GetCapabilities lists the languages that are there", missing, interpreters[missing.Language]).
			WithMeta("language", missing.Language).WithCause(err)
	}
	if full, ok := errors.AsType[*admission.FullError](err); ok {
		return rpcerr.New(codes.ResourceExhausted, ReasonBusy, "%s, most of them yours: nothing was run, try again later", full).
			WithRetry(full.Retry).WithCause(err)
	}
	switch {
	case errors.Is(err, execution.ErrKeyReused):
		return rpcerr.New(codes.Aborted, ReasonKeyReused, "the effect_key was used for another program before; give this one a key of its own")
	case errors.Is(err, execution.ErrElsewhere):
		return rpcerr.New(codes.Unavailable, ReasonElsewhere, "another process runs this execution; ask again for its end").WithRetry(retrySoon)
	case errors.Is(err, execution.ErrKeys):
		return rpcerr.New(codes.Unavailable, ReasonKeyStore, "executions cannot be recorded now; nothing was run").WithRetry(retrySoon).WithCause(err)
	case errors.Is(err, execution.ErrShutdown), errors.Is(err, isolate.ErrClosed):
		return rpcerr.New(codes.Unavailable, ReasonShuttingDown, "the sandbox shuts down; try again").WithCause(err)
	}
	return err
}
