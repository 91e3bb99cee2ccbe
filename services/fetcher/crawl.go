package fetcher

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
)

// newWorker makes the crawl worker of this process.
func (s *Service) newWorker(cfg Config, deps Deps) *crawlworker.Worker {
	return crawlworker.New(crawlworker.Config{
		ID:         "fetcher-" + rand.Text(),
		Work:       taskmanagerv1.NewCrawlWorkServiceClient(deps.Tasks),
		Fetch:      s.crawlPage,
		Robots:     s.robots,
		Blobs:      deps.Blobs,
		MaxBatches: cfg.MaxBatches,
		Logger:     deps.Logger,
		Tracer:     s.tracer,
	})
}

// crawlPage gets and reads a page for the crawl worker just as fetch does, but
// once: when and whether it is tried again is the task manager's to say. The
// answer of a server that asks to be left alone is not read.
func (s *Service) crawlPage(ctx context.Context, q crawlworker.Query) (page crawlworker.Page, err error) {
	ctx, span := s.tracer.Start(ctx, "fetch", trace.WithSpanKind(trace.SpanKindClient))
	defer func() { endSpan(span, err) }()
	begin, waited := time.Now(), time.Duration(0)
	got, err := s.get(ctx, span, httpfetch.Request{URL: q.URL, NoRetry: true, Hop: func(ctx context.Context, next *url.URL) error {
		from := time.Now()
		defer func() { waited += time.Since(from) }()
		return q.Hop(ctx, next)
	}})
	page.Duration = time.Since(begin) - waited
	if err != nil {
		return page, err
	}
	page.RetryAfter = got.RetryAfter
	if got.Status == http.StatusTooManyRequests || got.Status == http.StatusServiceUnavailable {
		page.Metadata = metadataOf(got)
		return page, nil
	}
	maxChars := maxMaxChars
	if q.MaxChars > 0 {
		maxChars = min(max(q.MaxChars, minMaxChars), maxMaxChars)
	}
	read, err := s.read(ctx, query{url: q.URL, extract: q.Extract, maxChars: maxChars}, got)
	if err != nil {
		page.Metadata = metadataOf(got)
		return page, err
	}
	page.Content, page.Metadata = read.GetContent(), read.GetMetadata()
	page.Truncated = read.GetTruncated() || got.Truncated || isCapped(read.GetWarnings())
	return page, nil
}

// isCapped says whether the content is over what can be read of a page at all.
func isCapped(warnings []string) bool {
	for _, w := range warnings {
		if strings.HasPrefix(w, warnContentLimit) {
			return true
		}
	}
	return false
}
