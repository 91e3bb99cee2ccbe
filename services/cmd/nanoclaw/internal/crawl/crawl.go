// Package crawl follows crawl tasks to their ends, through broken connections
// and restarts of the server, and reads what became of each address.
package crawl

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

const (
	// A lost connection is looked for again after firstWait, then after twice
	// as long, up to longestWait; maxFailures in a row are given up: about 30 s.
	firstWait   = 200 * time.Millisecond
	longestWait = 5 * time.Second
	maxFailures = 10
	// readGap is the least time between two readings of results while the task
	// runs.
	readGap = 500 * time.Millisecond
	// pageSize is the most results of one answer.
	pageSize = 100

	idempotencyKey = "idempotency-key"
)

// ErrLost says that the server stayed away.
var ErrLost = errors.New("the connection broke and did not come back")

var errBye = errors.New("the server ended the stream early")

// Follower follows one task. It is used once.
type Follower struct {
	Tasks  taskmanagerv1.CrawlTaskServiceClient
	TaskID string
	// Seen is called with every event that is new; nil: nobody looks.
	Seen func(*taskmanagerv1.CrawlEvent)
	// Results is called with each result once, in order, while the task runs;
	// nil: they are not read.
	Results func(*taskmanagerv1.CrawlResult) error
	// Note tells the person what happens to the connection.
	Note func(string)

	lastSeq  int32
	done     *taskmanagerv1.CrawlDone
	reading  Reading
	fresh    bool      // results have come that were not read
	lastRead time.Time // when they were read last
	lost     bool
}

// Follow returns how the task ended; all its results have been passed on then.
// The end of ctx leaves the task as it is.
func (f *Follower) Follow(ctx context.Context) (*taskmanagerv1.CrawlDone, error) {
	f.reading = Reading{Tasks: f.Tasks, TaskID: f.TaskID, Each: f.Results}
	wait, failures := firstWait, 0
	for {
		progress, err := f.listen(ctx)
		switch {
		case err == nil:
			return f.done, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !transient(err):
			return nil, err
		}
		if progress {
			wait, failures = firstWait, 0
		}
		if failures++; failures > maxFailures {
			return nil, fmt.Errorf("%w: %s", ErrLost, status.Convert(err).Message())
		}
		if !f.lost && !errors.Is(err, errBye) {
			f.lost = true
			f.Note("the connection is lost, looking for it again")
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		wait = min(2*wait, longestWait)
	}
}

// transient says whether following again may help.
func transient(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, errBye) || status.Code(err) == codes.Unavailable
}

// listen reads one stream until the task has ended and its results are read.
// progress says that something new came.
//
// The stream does not get the deadline of ctx: the server would end it a moment
// before ctx does, and that could not be told from a failure.
func (f *Follower) listen(ctx context.Context) (progress bool, err error) {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	if f.done == nil {
		stream, err := f.Tasks.WatchCrawlTask(inner, &taskmanagerv1.WatchCrawlTaskRequest{TaskId: f.TaskID, AfterSeq: f.lastSeq})
		if err != nil {
			return false, err
		}
		for f.done == nil {
			event, err := stream.Recv()
			if err != nil {
				return progress, err
			}
			if event.GetBye() != nil {
				return progress, errBye
			}
			progress = f.take(event) || progress
			if f.done == nil {
				if err := f.read(inner); err != nil {
					return progress, err
				}
			}
		}
	}
	f.lastRead = time.Time{}
	return progress, f.read(inner)
}

// take tells about an event, unless it is known already.
func (f *Follower) take(event *taskmanagerv1.CrawlEvent) bool {
	f.lost = false
	seq := event.GetSeq()
	if seq > 0 && seq <= f.lastSeq {
		return false
	}
	f.lastSeq = max(f.lastSeq, seq)
	f.done = event.GetDone()
	f.fresh = f.fresh || event.GetPage() != nil || f.done != nil
	if f.Seen != nil {
		f.Seen(event)
	}
	return true
}

// read passes on the results that are new, at most every readGap.
func (f *Follower) read(ctx context.Context) error {
	if f.Results == nil || !f.fresh || time.Since(f.lastRead) < readGap {
		return nil
	}
	if err := f.reading.Read(ctx); err != nil {
		return err
	}
	f.fresh, f.lastRead = false, time.Now()
	return nil
}

// Create makes a task. One who is patient waits for a server that is away; the
// task is made once, however often that is asked.
func Create(ctx context.Context, tasks taskmanagerv1.CrawlTaskServiceClient, req *taskmanagerv1.CreateCrawlTaskRequest,
	patient bool, note func(string)) (*taskmanagerv1.CreateCrawlTaskResponse, error) {
	ctx = metadata.AppendToOutgoingContext(ctx, idempotencyKey, rand.Text())
	wait := firstWait
	for failures := 1; ; failures++ {
		made, err := tasks.CreateCrawlTask(ctx, req)
		if status.Code(err) != codes.Unavailable || !patient || failures > maxFailures {
			return made, err
		}
		if failures == 1 {
			note("the connection is lost, looking for it again")
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		wait = min(2*wait, longestWait)
	}
}

// Reading reads the results of one task, as far as there are any, and goes on
// where it was.
type Reading struct {
	Tasks  taskmanagerv1.CrawlTaskServiceClient
	TaskID string
	// Each is called with each result once, in order.
	Each func(*taskmanagerv1.CrawlResult) error

	cursor  string
	lastSeq int32
}

// Read passes on every result that there is now and that was not passed on.
func (r *Reading) Read(ctx context.Context) error {
	limit := int32(pageSize)
	for {
		page, err := r.Tasks.ListCrawlResults(ctx, &taskmanagerv1.ListCrawlResultsRequest{TaskId: r.TaskID, Limit: &limit, Cursor: r.cursor})
		if err != nil {
			return err
		}
		for _, result := range page.GetItems() {
			if result.GetSeq() <= r.lastSeq {
				continue
			}
			if err := r.Each(result); err != nil {
				return err
			}
			r.lastSeq = result.GetSeq()
		}
		if next := page.GetNextCursor(); next != "" {
			r.cursor = next
		}
		if !page.GetHasMore() {
			return nil
		}
	}
}
