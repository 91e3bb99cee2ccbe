package crawlworker

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/trace"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/robots"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
)

// Query is one page to get.
type Query struct {
	URL string
	// Extract is the extract type, MaxChars the most characters of text; 0 means
	// as many as there may be.
	Extract  string
	MaxChars int
	// Hop is asked before a redirect is followed; its error ends the fetch and is
	// in the chain of the fetch's.
	Hop func(ctx context.Context, next *url.URL) error
}

// Page is an answer of a server, of whatever status.
type Page struct {
	// Content is nil when there is nothing to read.
	Content  *fetcherv1.PageContent
	Metadata *fetcherv1.PageMetadata
	// Truncated says that there is more than Content holds.
	Truncated bool
	// RetryAfter is how long the server asks to be left alone; 0: it does not.
	RetryAfter time.Duration
	// Duration is the server's time, without waits of ours.
	Duration time.Duration
}

// Fetch gets and reads a page, once. The error is an *rpcerr.Error; where an
// answer came that cannot be read, Page has its metadata beside the error.
type Fetch func(ctx context.Context, q Query) (Page, error)

// Robots says what holds for the origin of an address; *robots.Checker does.
type Robots interface {
	Check(ctx context.Context, u *url.URL) (*robots.Verdict, error)
}

// Config is what a Worker works with; everything without a default is needed.
type Config struct {
	// ID names the worker, anew with each start of its process.
	ID string
	// Work hands out the batches.
	Work taskmanagerv1.CrawlWorkServiceClient
	// Fetch, Robots and Blobs are the worker's tools.
	Fetch  Fetch
	Robots Robots
	Blobs  blob.Bucket
	// MaxBatches are worked on at the same time.
	MaxBatches int
	Logger     *slog.Logger
	Tracer     trace.Tracer
	// Times; zero values mean DefaultTimes.
	Times Times
}

// Times are the waits of a worker.
type Times struct {
	// Poll is how long the task manager may wait for work before it says that
	// there is none; Call bounds every other call.
	Poll, Call time.Duration
	// Extend is how often all leases are renewed; Lease is how long one holds
	// when nothing is heard.
	Extend, Lease time.Duration
	// PartAge is how old the first page of a part may become.
	PartAge time.Duration
	// Drain bounds the end.
	Drain time.Duration
	// Backoff is the first wait after a failed call, and grows to MaxBackoff.
	// Empty is the wait after an answer without work that came too soon.
	Backoff, MaxBackoff, Empty time.Duration
}

// DefaultTimes are those of the contract with the task manager.
func DefaultTimes() Times {
	return Times{
		Poll: 20 * time.Second, Call: 5 * time.Second,
		Extend:  900 * time.Millisecond, // a cancelled task stops within a second
		Lease:   15 * time.Second,
		PartAge: time.Second, Drain: 2 * time.Second,
		Backoff: 100 * time.Millisecond, MaxBackoff: 2 * time.Second, Empty: 250 * time.Millisecond,
	}
}

const (
	// maxTargets of a batch.
	maxTargets = 32
	// maxPartPages and maxPartBytes bound a part of a batch.
	maxPartPages = 8
	maxPartBytes = 2 << 20
	// maxInlineBytes of content are in a message; more goes to the blob store.
	maxInlineBytes = 64 << 10
	// maxContentBytes of a page are kept.
	maxContentBytes = 1 << 20
	// maxTitleBytes of a title are kept.
	maxTitleBytes = 10_000
	// maxAboutBytes of everything else that a page says of itself are kept, and
	// maxProperties of its properties.
	maxAboutBytes = 1000
	maxProperties = 16
	// putTries is how often a blob is written before its page is given up.
	putTries = 4
)

// Reasons of pages that a worker did not get.
const (
	ReasonRobotsDisallowed  = "ROBOTS_DISALLOWED"
	ReasonRobotsUnreachable = "ROBOTS_UNREACHABLE"
	ReasonRateLimited       = "RATE_LIMITED"
	ReasonContentNotStored  = "CONTENT_NOT_STORED"
	ReasonResultRefused     = "RESULT_REFUSED"
	ReasonInternal          = "INTERNAL"
)

// The outcomes of the contract.
const (
	outcomeFetched = "fetched"
	outcomeFailed  = "failed"
	outcomeBlocked = "blocked"
	outcomeSkipped = "skipped"
)
