package schema

import (
	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
)

// The statuses of tasks.
const (
	StatusPending   = "pending"
	StatusRunning   = "running"
	StatusCompleted = "completed"
	StatusFailed    = "failed"
	StatusCancelled = "cancelled"
)

// The outcomes of completed tasks.
const (
	OutcomeOK      = "ok"
	OutcomePartial = "partial"
	OutcomeEmpty   = "empty"
)

// User is a row of crawl_users.
type User struct {
	bun.BaseModel `bun:"table:crawl_users"`

	UserID    string `bun:",pk"`
	CreatedAt int64
}

// Task is a row of crawl_tasks.
type Task struct {
	bun.BaseModel `bun:"table:crawl_tasks"`

	ID           string `bun:",pk"`
	UserID       string
	ExtractType  string
	Parallel     int
	Status       string
	Outcome      string
	Total        int
	Succeeded    int
	Failed       int
	Skipped      int
	LastSeq      int
	ResultSeq    int
	Rev          int
	ErrorMessage string
	TraceParent  string
	CreatedAt    int64
	StartedAt    int64
	CompletedAt  int64
	SweptAt      int64
}

// Ended reports whether nothing more will happen to the task.
func (t *Task) Ended() bool { return t.Status != StatusPending && t.Status != StatusRunning }

// Progress is how many addresses are done with.
func (t *Task) Progress() int { return t.Succeeded + t.Failed + t.Skipped }

// The states of addresses.
const (
	StateOpen    = 0
	StateDone    = 2
	StateFailed  = 3
	StateSkipped = 4
)

// Address is a row of crawl_frontier.
type Address struct {
	bun.BaseModel `bun:"table:crawl_frontier"`

	TaskID      string `bun:",pk"`
	URLKey      []byte `bun:",pk"`
	Ordinal     int
	Origin      string
	Host        string
	URL         string
	State       int
	Attempts    int
	Blocks      int
	Losses      int
	NotBefore   int64
	RobotsUntil int64
}

// Host is a row of crawl_hosts.
type Host struct {
	bun.BaseModel `bun:"table:crawl_hosts"`

	Host string `bun:",pk"`
	host.Pace
	LeaseID     string
	LeaseUntil  int64
	RobotsUntil int64
	UpdatedAt   int64
}

// The states of leases.
const (
	LeaseLive      = "live"
	LeaseDone      = "done"
	LeaseLost      = "lost"
	LeaseCancelled = "cancelled"
)

// Lease is a row of crawl_leases.
type Lease struct {
	bun.BaseModel `bun:"table:crawl_leases"`

	ID         string `bun:",pk"`
	TaskID     string
	Host       string
	Origin     string
	WorkerID   string
	State      string
	Parallel   int
	URLKeys    []byte `bun:"url_keys"`
	Parts      string
	Clean      int
	LeaseUntil int64
	CreatedAt  int64
	EndedAt    int64
}

// Result is a row of crawl_results.
type Result struct {
	bun.BaseModel `bun:"table:crawl_results"`

	TaskID        string `bun:",pk"`
	Seq           int    `bun:",pk"`
	URLKey        []byte
	URL           string
	OK            bool
	Data          []byte
	ContentKey    string
	ContentSHA256 string `bun:"content_sha256"`
	Reason        string
	Error         string
	StatusCode    int
	Attempts      int
	DurationMS    int
	FetchedAt     int64
}

// Event is a row of crawl_events.
type Event struct {
	bun.BaseModel `bun:"table:crawl_events"`

	TaskID    string `bun:",pk"`
	Seq       int    `bun:",pk"`
	Type      string
	Data      []byte
	CreatedAt int64
}

// IdempotencyKey is a row of idempotency_keys.
type IdempotencyKey struct {
	bun.BaseModel `bun:"table:idempotency_keys"`

	UserID     string `bun:",pk"`
	IdemKey    string `bun:",pk"`
	BodySHA256 string `bun:"body_sha256"`
	TaskID     string
	CreatedAt  int64
}
