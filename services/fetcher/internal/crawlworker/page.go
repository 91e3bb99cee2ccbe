package crawlworker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/robots"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// get asks for one address and says what became of it; nil when ctx ended, since
// then nobody wants to know, or when the host is left alone. A page that breaks its reader is a failed page.
func (w *Worker) get(ctx context.Context, b *taskmanagerv1.CrawlBatch, t *taskmanagerv1.CrawlTarget, h *host) (out *taskmanagerv1.FetchedPage) {
	place := turn{pace: h.pace}
	defer place.done()
	defer func() {
		if r := recover(); r != nil {
			w.Logger.ErrorContext(ctx, "a page broke the crawl worker", "task_id", b.GetTaskId(), "origin", b.GetOrigin(),
				"panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			out = failed(t, ReasonInternal, "something went wrong on our side while this page was read", false)
		}
	}()
	if !place.wait(h.asking) {
		return nil
	}
	page, err := w.Fetch(place.traced(ctx), Query{
		URL: t.GetUrl(), Extract: b.GetExtractType(), MaxChars: int(b.GetMaxChars()),
		Hop: func(ctx context.Context, next *url.URL) error { return w.hop(ctx, b.GetOrigin(), next, h, &place) },
	})
	place.done()
	if ctx.Err() != nil || errors.Is(err, errLeftAlone) {
		return nil
	}
	out = w.outcome(t, page, err)
	out.Message, _ = cleanse.Text(out.Message) // it may quote hosts of strangers
	out.DurationMs = int32(min(page.Duration.Milliseconds(), int64(time.Hour/time.Millisecond)))
	if page.Content == nil || out.GetOutcome() != outcomeFetched {
		return out
	}
	return w.withContent(ctx, b, t, out, page)
}

// refusedHop is a redirect that is not followed.
type refusedHop struct{ reason, words string }

func (e *refusedHop) Error() string { return e.words }

// hop decides about a redirect: the robots.txt of where it leads is asked, and
// on the host of the batch its turn is waited for.
func (w *Worker) hop(ctx context.Context, origin string, next *url.URL, h *host, place *turn) error {
	v, err := w.Robots.Check(ctx, next)
	var nowhere *httpfetch.Error
	switch {
	case errors.As(err, &nowhere): // the request itself says so in better words
	case err != nil:
		return &refusedHop{ReasonRobotsUnreachable, "the robots.txt of where it redirects to could not be asked for"}
	case v.Allows(next):
	case v.State == robots.StateUnreachable:
		return &refusedHop{ReasonRobotsUnreachable, "it redirects to " + next.Host + ", whose robots.txt cannot be read: " + v.Reason}
	default:
		return &refusedHop{ReasonRobotsDisallowed, "it redirects to an address of " + next.Host + " that its robots.txt forbids"}
	}
	if sameHost(origin, next) && !place.wait(h.asking) {
		return context.Cause(h.asking)
	}
	return nil
}

// sameHost says whether an address is at the host and port of an origin,
// whatever the scheme.
func sameHost(origin string, u *url.URL) bool {
	_, host, _ := strings.Cut(origin, "://")
	host = strings.TrimSuffix(host, "/")
	return strings.EqualFold(withoutPort(host), withoutPort(u.Host))
}

// withoutPort drops the ports of http and https, between which sites redirect.
func withoutPort(host string) string {
	return strings.TrimSuffix(strings.TrimSuffix(host, ":80"), ":443")
}

// outcome says what became of an address, without the content.
func (w *Worker) outcome(t *taskmanagerv1.CrawlTarget, page Page, err error) *taskmanagerv1.FetchedPage {
	var hop *refusedHop
	if errors.As(err, &hop) {
		return &taskmanagerv1.FetchedPage{UrlKey: t.GetUrlKey(), Outcome: outcomeSkipped, Reason: hop.reason, Message: hop.words}
	}
	out := &taskmanagerv1.FetchedPage{UrlKey: t.GetUrlKey(), Outcome: outcomeFetched}
	if page.Metadata != nil {
		mendMetadata(page.Metadata)
		out.Metadata, out.StatusCode = page.Metadata, page.Metadata.GetStatusCode()
		out.RetryAfterMs = int32(min(page.RetryAfter, maxRetryAfter) / time.Millisecond)
	}
	switch {
	case err != nil:
		failure := failed(t, ReasonInternal, "the page could not be fetched", true)
		if e, ok := rpcerr.As(err); ok {
			failure.Reason, failure.Message, failure.Retryable = e.Reason(), e.Message(), e.Code() != codes.InvalidArgument
		}
		failure.Metadata, failure.StatusCode = out.Metadata, out.StatusCode
		return failure
	case out.StatusCode == http.StatusTooManyRequests,
		out.StatusCode == http.StatusServiceUnavailable && page.RetryAfter > 0:
		out.Outcome, out.Reason, out.Retryable = outcomeBlocked, ReasonRateLimited, true
		out.Message = fmt.Sprintf("the server answers %d: it asks to be left alone", out.StatusCode)
	}
	return out
}

// maxRetryAfter is the longest time that fits the message.
const maxRetryAfter = 24 * 24 * time.Hour

func failed(t *taskmanagerv1.CrawlTarget, reason, words string, retryable bool) *taskmanagerv1.FetchedPage {
	return &taskmanagerv1.FetchedPage{UrlKey: t.GetUrlKey(), Outcome: outcomeFailed, Reason: reason, Message: words, Retryable: retryable}
}
