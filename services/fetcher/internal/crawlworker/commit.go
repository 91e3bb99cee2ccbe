package crawlworker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// committer commits the pages of one batch in parts.
type committer struct {
	worker *Worker
	ctx    context.Context // of the lease
	lease  string

	open      int   // addresses of which nothing came yet
	part      int32 // the last that was sent
	committed int
	pending   []*taskmanagerv1.FetchedPage
	bytes     int
	due       *time.Timer // since the first pending page came; nil: none is pending
}

// run commits pages until their channel is closed, and then the final part. The
// error says why that was not done.
func (c *committer) run(pages <-chan *taskmanagerv1.FetchedPage) error {
	for {
		var due <-chan time.Time
		if c.due != nil {
			due = c.due.C
		}
		select {
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		case <-due:
			if err := c.commit(false); err != nil {
				return err
			}
		case page, more := <-pages:
			if !more {
				return c.commit(true)
			}
			if err := c.add(page); err != nil {
				return err
			}
			if c.open == 0 {
				return c.commit(true)
			}
		}
	}
}

// add takes a page, and commits when the part is full.
func (c *committer) add(page *taskmanagerv1.FetchedPage) error {
	c.open--
	size := proto.Size(page)
	if len(c.pending) > 0 && c.bytes+size > maxPartBytes {
		if err := c.commit(false); err != nil {
			return err
		}
	}
	if c.due == nil {
		c.due = time.NewTimer(c.worker.Times.PartAge)
	}
	c.pending = append(c.pending, page)
	c.bytes += size
	if len(c.pending) < maxPartPages || c.open == 0 {
		return nil
	}
	return c.commit(false)
}

// commit sends what is pending, again and again until it is taken or the lease
// has ended.
func (c *committer) commit(final bool) error {
	c.part++
	req := &taskmanagerv1.CommitBatchRequest{LeaseId: c.lease, Part: c.part, Final: final, Pages: c.pending}
	c.pending, c.bytes = nil, 0
	if c.due != nil {
		c.due.Stop()
		c.due = nil
	}
	w := c.worker
	wait := backoff{first: w.Times.Backoff, most: w.Times.MaxBackoff}
	refused := false
	for {
		sent := time.Now()
		call, cancel := context.WithTimeout(c.ctx, w.Times.Call)
		answer, err := w.Work.CommitBatch(call, req)
		cancel()
		switch {
		case err == nil:
			w.link.works(c.ctx, sent)
			c.committed += len(req.GetPages())
			if answer.GetCancelled() {
				return errCancelled
			}
			return nil
		case c.ctx.Err() != nil:
			return context.Cause(c.ctx)
		case status.Code(err) == codes.Aborted, status.Code(err) == codes.NotFound:
			return errLost
		case status.Code(err) == codes.InvalidArgument && !refused && len(req.GetPages()) > 0:
			// One page must not make its batch come back for ever.
			refused = true
			w.Logger.ErrorContext(c.ctx, "the task manager refuses a part of a crawl batch; its pages are failed", "lease_id", c.lease, "error", err)
			req.Pages = allFailed(req.GetPages())
			continue
		case !passing(err):
			return fmt.Errorf("%w: %w", errRefused, err)
		}
		w.link.failed(c.ctx, err)
		if !wait.sleep(c.ctx, err) {
			return context.Cause(c.ctx)
		}
	}
}

var errRefused = errors.New("the task manager does not take what came")

func allFailed(pages []*taskmanagerv1.FetchedPage) []*taskmanagerv1.FetchedPage {
	out := make([]*taskmanagerv1.FetchedPage, len(pages))
	for i, p := range pages {
		out[i] = &taskmanagerv1.FetchedPage{
			UrlKey: p.GetUrlKey(), Outcome: outcomeFailed, StatusCode: p.GetStatusCode(), DurationMs: p.GetDurationMs(),
			Reason: ReasonResultRefused, Message: "the page came, but what was read of it could not be recorded",
		}
	}
	return out
}
