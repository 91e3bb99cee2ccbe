package crawlworker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/pause"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// link knows whether the task manager answers, and says once when that changes. A
// moment without an answer, as at a restart, is not worth a word.
type link struct {
	log      *slog.Logger
	patience time.Duration
	mu       sync.Mutex
	away     time.Time // since when; zero: it answers
	said     bool
}

func (l *link) failed(ctx context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away.IsZero() {
		l.away = time.Now()
	}
	if l.said || time.Since(l.away) < l.patience {
		return
	}
	l.said = true
	l.log.WarnContext(ctx, "the task manager does not answer; crawl batches wait for it",
		"code", status.Code(err).String(), "reason", rpcerr.Reason(err), "error", status.Convert(err).Message())
}

// works takes the success of a call that was begun at a time. One that was under
// way when the others failed says nothing.
func (l *link) works(ctx context.Context, begun time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away.IsZero() || begun.Before(l.away) {
		return
	}
	if l.said {
		l.log.InfoContext(ctx, "the task manager answers again", "away", time.Since(l.away).Round(time.Millisecond))
	}
	l.away, l.said = time.Time{}, false
}

// passing tells errors after which the same call may succeed.
func passing(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Internal, codes.Unknown, codes.Canceled:
		return true
	}
	return false
}

// backoff is a wait that doubles, with jitter.
type backoff struct {
	first, most time.Duration
	next        time.Duration
}

func (b *backoff) reset() { b.next = 0 }

// sleep waits after an error, at least as long as it says itself, and reports
// whether the wait was whole.
func (b *backoff) sleep(ctx context.Context, err error) bool {
	b.next = min(max(2*b.next, b.first), b.most)
	wait := b.next/2 + rand.N(b.next/2+1)
	if asked, ok := rpcerr.RetryDelay(err); ok {
		wait = max(wait, min(asked, b.most))
	}
	return pause.For(ctx, wait) == nil
}

// quiet is ctx for calls that would each be a trace of its own, every second,
// and say nothing: they are in no trace.
func quiet(ctx context.Context) context.Context {
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, Remote: true})
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}
