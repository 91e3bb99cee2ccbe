package schema

import (
	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/taint"
)

// User is a row of users.
type User struct {
	bun.BaseModel `bun:"table:users"`

	ID        string `bun:",pk"`
	Name      string
	CreatedAt int64
}

// Token is a row of api_tokens. Hash is the SHA-256 of the token in hex; the
// token itself is never stored. ExpiresAt 0 means never.
type Token struct {
	bun.BaseModel `bun:"table:api_tokens"`

	ID         string `bun:",pk"`
	UserID     string
	Name       string
	Hash       string
	Prefix     string
	Scopes     string // separated by single spaces
	CreatedAt  int64
	ExpiresAt  int64
	LastUsedAt int64
}

// Conversation is a row of conversations.
type Conversation struct {
	bun.BaseModel `bun:"table:conversations"`

	ID           string `bun:",pk"`
	UserID       string
	Title        string
	Model        string
	SystemPrompt string
	ActiveLeaf   string // id of the last message of the active branch
	LiveRun      string // id of the run that is going on
	CreatedAt    int64
	UpdatedAt    int64
}

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is a row of messages.
type Message struct {
	bun.BaseModel `bun:"table:messages"`

	ID             string `bun:",pk"`
	ConversationID string
	UserID         string
	ParentID       string
	PathLength     int
	Role           string
	Content        string
	RunID          string
	Origins        taint.Set
	CreatedAt      int64
}

// The statuses of runs.
const (
	RunQueued    = "queued"
	RunRunning   = "running"
	RunWaiting   = "waiting"
	RunCompleted = "completed"
	RunFailed    = "failed"
	RunCancelled = "cancelled"
)

// WaitStuckRun is what a run waits for after three takeovers without progress.
const WaitStuckRun = "stuck_run"

// Run is a row of runs.
type Run struct {
	bun.BaseModel `bun:"table:runs"`

	ID              string `bun:",pk"`
	ConversationID  string
	UserID          string
	UserMessageID   string
	MessageID       string
	Model           string
	ToolsEnabled    bool
	Status          string
	WaitingFor      string
	FinishReason    string
	ErrorCode       int
	ErrorReason     string
	ErrorMessage    string
	ErrorRetryable  bool
	Rounds          int
	LastSeq         int
	LeaseOwner      string
	LeaseAddr       string
	LeaseEpoch      int
	LeaseUntil      int64
	Takeovers       int
	CancelRequested bool
	Origins         taint.Set
	TraceID         string
	TraceParent     string
	CreatedAt       int64
	EndedAt         int64
}

// Ended reports whether nothing more will happen to the run.
func (r *Run) Ended() bool {
	return r.Status == RunCompleted || r.Status == RunFailed || r.Status == RunCancelled
}

// The states of model calls. One that is done is a round of its run; one that is
// corrected came to the arguments of a call that a round before had asked for, and
// is none.
const (
	ModelCallStarted   = "started"
	ModelCallDone      = "done"
	ModelCallCorrected = "corrected"
	ModelCallFailed    = "failed"
	ModelCallAbandoned = "abandoned"
)

// ModelCall is a row of model_calls.
type ModelCall struct {
	bun.BaseModel `bun:"table:model_calls"`

	ID              string `bun:",pk"`
	RunID           string
	UserID          string
	Round           int
	Attempt         int
	State           string
	Model           string
	Text            string
	Reasoning       string
	ReasoningField  string
	Extra           string // JSON members to pass back
	Finish          string
	InputTokens     int
	OutputTokens    int
	CachedTokens    int
	ReasoningTokens int
	UsageEstimated  bool
	RequestID       string
	Error           string
	StartedAt       int64
	EndedAt         int64
}

// The states of tool calls.
const (
	CallPlanned         = "planned"
	CallWaitingApproval = "waiting_approval"
	CallDispatching     = "dispatching"
	CallDone            = "done"
	CallDenied          = "denied"
	CallUnknown         = "unknown"
	CallCancelled       = "cancelled"
)

// Decisions on planned calls whose arguments could not be read. The gate decides
// on a call anew when it is made, and its word takes their place.
const (
	// DecisionCorrect says that the model is yet to be asked for them once more.
	// Until then nobody was told of any call of the round.
	DecisionCorrect = "correct"
	// DecisionCorrected says that it was, and that ArgsCanonical is its answer.
	DecisionCorrected = "corrected"
)

// ToolCall is a row of tool_calls.
type ToolCall struct {
	bun.BaseModel `bun:"table:tool_calls"`

	ID             string `bun:",pk"`
	RunID          string
	ConversationID string
	UserID         string
	Round          int
	Ordinal        int
	ProviderCallID string // the id that the model gave; not unique
	Name           string
	Arguments      string // as the model wrote them
	Extra          string // JSON members of the call to pass back
	ArgsCanonical  string
	ArgsSHA256     string `bun:"args_sha256"`
	Effect         string
	EffectKey      string
	State          string
	Decision       string
	Reason         string
	Attempt        int
	Result         string
	ResultBlob     string
	ResultChars    int
	ModelText      string
	IsError        bool
	Truncated      bool
	Origins        taint.Set
	CostUSD        float64 `bun:"cost_usd"`
	TraceID        string
	CreatedAt      int64
	StartedAt      int64
	EndedAt        int64
}

// Terminal reports whether the call has its result.
func (c *ToolCall) Terminal() bool {
	switch c.State {
	case CallDone, CallDenied, CallUnknown, CallCancelled:
		return true
	}
	return false
}

// Ending is how a call without a result ends when its run does: the outcome of
// one that was being made is unknown, unless making it had no effect.
func (c *ToolCall) Ending() (state, reason string) {
	if c.State == CallDispatching && c.Effect != EffectPure {
		return CallUnknown, ReasonOutcomeUnknown
	}
	return CallCancelled, ReasonCancelled
}

// What is said of calls that have no result.
const (
	EffectPure           = "pure"
	ReasonCancelled      = "CANCELLED"
	ReasonOutcomeUnknown = "OUTCOME_UNKNOWN"
)

// Event is a row of events.
type Event struct {
	bun.BaseModel `bun:"table:events"`

	RunID     string `bun:",pk"`
	Seq       int    `bun:",pk"`
	Type      string
	Data      []byte
	CreatedAt int64
}

// The kinds of ledger rows.
const (
	LedgerModel = "model"
	LedgerTool  = "tool"
)

// LedgerRow is a row of usage_ledger.
type LedgerRow struct {
	bun.BaseModel `bun:"table:usage_ledger"`

	CallID       string `bun:",pk"`
	UserID       string
	Kind         string
	Day          string
	Model        string
	Tool         string
	InputTokens  int
	OutputTokens int
	CachedTokens int
	CostUSD      float64 `bun:"cost_usd"`
}

// IdempotencyKey is a row of idempotency_keys.
type IdempotencyKey struct {
	bun.BaseModel `bun:"table:idempotency_keys"`

	UserID     string `bun:",pk"`
	Route      string `bun:",pk"`
	IdemKey    string `bun:",pk"`
	BodySHA256 string `bun:"body_sha256"`
	RefID      string
	CreatedAt  int64
}
