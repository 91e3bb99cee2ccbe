package engine

import (
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/account"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
)

// Config bounds what a run may do. DefaultConfig has the values.
type Config struct {
	// MaxIterations is how many rounds may call tools. After the last comes
	// one model call without tools.
	MaxIterations int
	// MaxCalls of one answer are made; the rest are refused.
	MaxCalls int
	// ParallelCalls of one answer are made at once.
	ParallelCalls int
	// BreakAfter is how many rounds in a row a tool may fail, or be called
	// with equal arguments, before the run is brought to its end.
	BreakAfter int
	// MaxTokens of an answer.
	MaxTokens int
	// ModelRetries is how often a model call is repeated after a failure that
	// may pass.
	ModelRetries int
	// RetryWait is the wait before the first repetition; it doubles. A wait
	// that the provider asks for counts when it is longer, up to MaxRetryWait.
	RetryWait, MaxRetryWait time.Duration
	// Corrections of one round are asked for, each of CorrectionTime at most: for
	// arguments that cannot be read, the model is asked once more.
	Corrections    int
	CorrectionTime time.Duration
	// ResultPatience is how long a call waits with a long result for a blob
	// store that is away.
	ResultPatience time.Duration
	// RunTimeout bounds a run from its start.
	RunTimeout time.Duration
	// MaxRuns go on at once in this process.
	MaxRuns int
	// Limits of a user.
	Limits run.Limits
	// DrainTime is how long runs may take to end when the process ends. What
	// is not done by then is released and goes on after the next start.
	DrainTime time.Duration
}

// DefaultConfig has the values of the design.
func DefaultConfig() Config {
	return Config{
		MaxIterations:  5,
		MaxCalls:       16,
		ParallelCalls:  4,
		BreakAfter:     3,
		MaxTokens:      4096,
		ModelRetries:   2,
		RetryWait:      500 * time.Millisecond,
		MaxRetryWait:   time.Minute,
		Corrections:    4,
		CorrectionTime: time.Minute,
		ResultPatience: 2 * time.Minute,
		RunTimeout:     10 * time.Minute,
		MaxRuns:        64,
		Limits:         run.Limits{RunningPerUser: 4, QueuedPerUser: 20},
		DrainTime:      5 * time.Second,
	}
}

// Model is a configured model.
type Model struct {
	ID string
	// Name is how its provider calls it.
	Name          string
	Provider      string // for traces, such as the host of its address
	ContextWindow int    // tokens; 0 when not known
	Streamer      provider.Streamer
	// Endpoint is where it is asked. What a model thought and signed is only sent
	// back to the endpoint that it came from.
	Endpoint string
	// Account is what pays for it; nil: no breaker.
	Account *account.Account
	// Fallback are ids of models that are asked where this one cannot answer, in
	// this order.
	Fallback []string
}

// Models finds a model by its id.
type Models interface {
	Model(id string) (Model, bool)
}
