package crawlworker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// batch fetches the addresses of a batch and commits what comes of them. ctx is
// the worker's run: when it ends, what came is the batch.
func (w *Worker) batch(ctx context.Context, l *lease, b *taskmanagerv1.CrawlBatch) {
	leased, span := w.start(l.ctx, b)
	defer span.End()
	fetching, stop := context.WithCancelCause(leased)
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(errDrained) })()

	pages := w.fetchAll(fetching, b)
	c := &committer{worker: w, ctx: leased, lease: b.GetLeaseId(), open: len(b.GetTargets())}
	err := c.run(pages)
	stop(nil)
	for range pages { // what comes now is too late
	}
	span.SetAttributes(attribute.Int("nanoclaw.crawl.pages", c.committed))
	if err != nil {
		if errors.Is(err, errCancelled) {
			span.SetAttributes(attribute.Bool("nanoclaw.crawl.cancelled", true))
			return
		}
		span.SetStatus(otelcodes.Error, err.Error())
		w.Logger.InfoContext(leased, "a crawl batch ended early", "task_id", b.GetTaskId(), "origin", b.GetOrigin(),
			"committed", c.committed, "addresses", len(b.GetTargets()), "reason", err)
	}
}

// start begins the span of a batch in the trace of its task.
func (w *Worker) start(ctx context.Context, b *taskmanagerv1.CrawlBatch) (context.Context, trace.Span) {
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": b.GetTraceparent()})
	return w.Tracer.Start(ctx, "crawl batch",
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(trace.Link{SpanContext: trace.SpanContextFromContext(ctx)}),
		trace.WithAttributes(
			attribute.String("nanoclaw.crawl.task_id", b.GetTaskId()),
			attribute.String("nanoclaw.crawl.origin", b.GetOrigin()),
			attribute.Int("nanoclaw.crawl.addresses", len(b.GetTargets())),
			attribute.Int("nanoclaw.crawl.parallel", int(b.GetGrant().GetParallel())),
			attribute.Int("nanoclaw.crawl.gap_ms", int(b.GetGrant().GetGapMs())),
		))
}

// fetchAll asks for the addresses as the grant says, until the host wants or
// gives no more. The channel is closed when nobody asks any more, and has room
// for all: nobody has to read it.
func (w *Worker) fetchAll(ctx context.Context, b *taskmanagerv1.CrawlBatch) <-chan *taskmanagerv1.FetchedPage {
	targets, grant := b.GetTargets(), b.GetGrant()
	pages := make(chan *taskmanagerv1.FetchedPage, len(targets))
	h := newHost(ctx, time.Duration(grant.GetGapMs())*time.Millisecond)
	var next atomic.Int64
	var askers sync.WaitGroup
	for range min(max(int(grant.GetParallel()), 1), len(targets)) {
		askers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(targets) || h.asking.Err() != nil {
					return
				}
				if page := w.get(ctx, b, targets[i], h); page != nil {
					h.came(page)
					pages <- page
				}
			}
		})
	}
	go func() {
		askers.Wait()
		h.leave(nil)
		close(pages)
	}()
	return pages
}
