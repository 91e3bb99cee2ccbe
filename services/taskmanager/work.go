package taskmanager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/urlkey"
)

const (
	// maxInlineBytes of content stand in a page; workers put more into the blob
	// store. The contract says 64 KiB; what is a little over is taken.
	maxInlineBytes = 80 << 10
	// answerTime is kept of a caller's deadline for the answer itself.
	answerTime = 500 * time.Millisecond
)

// LeaseBatch waits for work.
func (s *Service) LeaseBatch(ctx context.Context, req *pb.LeaseBatchRequest) (*pb.LeaseBatchResponse, error) {
	most := int(req.GetMaxUrls())
	if most == 0 {
		most = host.MaxBatch
	}
	wait := time.Duration(req.GetWaitMs()) * time.Millisecond
	if deadline, ok := ctx.Deadline(); ok {
		wait = max(min(wait, time.Until(deadline)-answerTime), 0)
	}
	began := time.Now()
	l, err := s.dispatch.Lease(ctx, req.GetWorkerId(), most, wait)
	if errors.Is(err, frontier.ErrNotNow) {
		return &pb.LeaseBatchResponse{}, nil
	}
	if err != nil {
		return nil, shaped(err, "")
	}
	_, span := s.tracer.Start(ctx, "crawl.lease", trace.WithTimestamp(began), trace.WithAttributes(
		attribute.String("nanoclaw.crawl.task", l.Task.ID), attribute.String("server.address", l.Lease.Host),
		attribute.Int("nanoclaw.crawl.urls", len(l.Targets)), attribute.Int("nanoclaw.crawl.parallel", l.Grant.Parallel)))
	defer span.End()
	return &pb.LeaseBatchResponse{Batch: s.batch(l)}, nil
}

func (s *Service) batch(l frontier.Leased) *pb.CrawlBatch {
	b := &pb.CrawlBatch{
		LeaseId: l.Lease.ID, LeaseUntil: stamp(l.Lease.LeaseUntil), TaskId: l.Task.ID, UserId: l.Task.UserID, Origin: l.Lease.Origin,
		Grant:       &pb.PolitenessGrant{Parallel: int32(l.Grant.Parallel), GapMs: int32(l.Grant.Gap.Milliseconds()), RobotsDecided: true},
		ExtractType: l.Task.ExtractType, MaxChars: int32(s.cfg.MaxChars), Traceparent: l.Task.TraceParent,
	}
	for _, a := range l.Targets {
		b.Targets = append(b.Targets, &pb.CrawlTarget{UrlKey: a.URLKey, Url: a.URL, Attempts: int32(a.Attempts)})
	}
	return b
}

// ExtendLease renews leases of a worker.
func (s *Service) ExtendLease(ctx context.Context, req *pb.ExtendLeaseRequest) (*pb.ExtendLeaseResponse, error) {
	e, err := s.frontier.Extend(ctx, req.GetWorkerId(), req.GetLeaseIds())
	if err != nil {
		return nil, shaped(err, "")
	}
	if len(e.Hosts) > 0 {
		s.dispatch.Board.Extended(e.Hosts, e.Renewed)
	}
	return &pb.ExtendLeaseResponse{Lost: e.Lost, Cancelled: e.Cancelled, LeaseUntil: stamp(e.Until)}, nil
}

// CommitBatch records a part of a batch.
func (s *Service) CommitBatch(ctx context.Context, req *pb.CommitBatchRequest) (*pb.CommitBatchResponse, error) {
	part := frontier.Part{LeaseID: req.GetLeaseId(), Part: int(req.GetPart()), Final: req.GetFinal()}
	for i, p := range req.GetPages() {
		page, err := pageOf(i, p)
		if err != nil {
			return nil, err
		}
		part.Pages = append(part.Pages, page)
	}
	ctx, span := s.tracer.Start(ctx, "crawl.commit", trace.WithAttributes(
		attribute.Int("nanoclaw.crawl.part", part.Part), attribute.Bool("nanoclaw.crawl.final", part.Final), attribute.Int("nanoclaw.crawl.pages", len(part.Pages))))
	defer span.End()
	c, err := s.frontier.Commit(ctx, part)
	if err != nil {
		span.SetStatus(otelcodes.Error, rpcerr.Reason(shaped(err, "")))
		return nil, shaped(err, "")
	}
	s.dispatch.Committed(c)
	if c.Changed {
		for _, p := range req.GetPages() {
			s.pages.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", p.GetOutcome())))
		}
	}
	span.SetAttributes(attribute.String("nanoclaw.crawl.task", c.Lease.TaskID), attribute.String("server.address", c.Lease.Host),
		attribute.Int("nanoclaw.crawl.recorded", c.Recorded))
	return &pb.CommitBatchResponse{Recorded: int32(c.Recorded), Cancelled: c.Cancelled}, nil
}

// pageOf reads what became of an address.
func pageOf(i int, p *pb.FetchedPage) (frontier.Page, error) {
	field := func(name string) string { return fmt.Sprintf("pages[%d].%s", i, name) }
	if len(p.GetUrlKey()) != urlkey.Size {
		return frontier.Page{}, rpcerr.InvalidArgument(field("url_key"), fmt.Sprintf("it must have %d bytes", urlkey.Size))
	}
	out := frontier.Page{URLKey: p.GetUrlKey(), Title: p.GetMetadata().GetTitle(), Facts: host.Page{
		Outcome: p.GetOutcome(), StatusCode: int(p.GetStatusCode()), Reason: p.GetReason(), Message: p.GetMessage(), Retryable: p.GetRetryable(),
		RetryAfter: time.Duration(p.GetRetryAfterMs()) * time.Millisecond, Duration: time.Duration(p.GetDurationMs()) * time.Millisecond,
	}}
	data := &pb.CrawlData{Content: p.GetContent(), Metadata: p.GetMetadata(), Truncated: p.GetTruncated()}
	if ref := p.GetContentRef(); ref.GetKey() != "" {
		data.Content, out.ContentKey, out.ContentSHA256 = nil, ref.GetKey(), ref.GetSha256()
	}
	if proto.Size(data.Content) > maxInlineBytes {
		return frontier.Page{}, rpcerr.InvalidArgument(field("content"), fmt.Sprintf("it has %d bytes; put what is over 64 KiB into the blob store", proto.Size(data.Content)))
	}
	if out.ContentKey != "" && len(out.ContentSHA256) != 64 {
		return frontier.Page{}, rpcerr.InvalidArgument(field("content_ref.sha256"), "it must be the SHA-256 of the blob in hexadecimal")
	}
	var err error
	if out.Data, err = proto.Marshal(data); err != nil {
		return frontier.Page{}, fmt.Errorf("keep a page: %w", err)
	}
	return out, nil
}
