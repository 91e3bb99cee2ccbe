package taskmanager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema/schematest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// robotsTxt is a fetcher that answers CheckRobots alone.
type robotsTxt struct {
	asked atomic.Int32
	mu    sync.Mutex
	// answer, when set, decides; otherwise everything is allowed.
	answer func(urls []string) (*fetcherv1.CheckRobotsResponse, error)
}

func (r *robotsTxt) Invoke(_ context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	if method != fetcherv1.FetcherService_CheckRobots_FullMethodName {
		return fmt.Errorf("unexpected call of %s", method)
	}
	r.asked.Add(1)
	urls := args.(*fetcherv1.CheckRobotsRequest).GetUrls()
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	res := &fetcherv1.CheckRobotsResponse{State: "none", ValidMs: 3_600_000}
	if answer != nil {
		var err error
		if res, err = answer(urls); err != nil {
			return err
		}
	}
	for len(res.Allowed) < len(urls) && res.State != robotsUnreachable {
		res.Allowed = append(res.Allowed, true)
	}
	proto.Merge(reply.(proto.Message), res)
	return nil
}

func (r *robotsTxt) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("no streams here")
}

func (r *robotsTxt) say(answer func(urls []string) (*fetcherv1.CheckRobotsResponse, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// world is the service with a database of the lane, running.
type world struct {
	t      testing.TB
	svc    *Service
	robots *robotsTxt
	blobs  blob.Bucket
	db     store.Config
	dir    string
	stop   func()
}

// newWorld starts a service. Every host is the operator's own, so that no test
// waits for a distance, unless change says otherwise.
func newWorld(t testing.TB, change ...func(*Config, *Deps)) *world {
	t.Helper()
	bucket, err := blob.Open(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bucket.Close() })
	w := &world{t: t, robots: &robotsTxt{}, blobs: bucket, dir: t.TempDir(), db: storetest.Fresh(t)}
	w.db.Path = ""
	w.start(change...)
	return w
}

// start starts the service, or starts it again on what is there.
func (w *world) start(change ...func(*Config, *Deps)) {
	w.t.Helper()
	w.svc, w.stop = w.another(change...)
	w.t.Cleanup(func() { w.stop() })
}

// another starts a service on the same database.
func (w *world) another(change ...func(*Config, *Deps)) (*Service, func()) {
	w.t.Helper()
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := DefaultConfig()
	deps := Deps{
		DataDir: w.dir, Database: w.db, Blobs: w.blobs, Fetcher: w.robots, Guard: guard,
		Local: func(string) bool { return true }, Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&cfg, &deps)
	}
	svc, err := New(context.Background(), cfg, deps)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = svc.Run(ctx) }()
	return svc, sync.OnceFunc(func() {
		svc.Drain(context.Background())
		cancel()
		<-done
		schematest.Check(w.t, svc.db)
		if err := svc.Close(); err != nil {
			w.t.Error(err)
		}
	})
}

// as is the context of a user, with headers "name", "value".
func as(user string, headers ...string) context.Context {
	ctx := auth.NewContext(context.Background(), auth.UserPrincipal(user, auth.ScopeAll))
	return metadata.NewIncomingContext(ctx, metadata.Pairs(headers...))
}

func worker() context.Context {
	return auth.NewContext(context.Background(), auth.ServicePrincipal("fetcher"))
}

// pages are n addresses of a host.
func pages(host string, n int) (urls []string) {
	for i := range n {
		urls = append(urls, fmt.Sprintf("https://%s/page/%d", host, i))
	}
	return urls
}

func (w *world) create(user string, urls ...string) string {
	w.t.Helper()
	res, err := w.svc.CreateCrawlTask(as(user), &pb.CreateCrawlTaskRequest{Urls: urls})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.TaskId
}

func (w *world) get(user, id string) *pb.CrawlTask {
	w.t.Helper()
	res, err := w.svc.GetCrawlTask(as(user), &pb.GetCrawlTaskRequest{TaskId: id})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.Task
}

// lease waits for a batch, which must come.
func (w *world) lease(id string) *pb.CrawlBatch {
	w.t.Helper()
	return lease(w.t, w.svc, id)
}

func lease(t testing.TB, svc *Service, id string) *pb.CrawlBatch {
	t.Helper()
	res, err := svc.LeaseBatch(worker(), &pb.LeaseBatchRequest{WorkerId: id, WaitMs: 30_000})
	if err != nil {
		t.Fatal(err)
	}
	if res.Batch == nil {
		t.Fatal("no work came")
	}
	return res.Batch
}

// noLease fails the test when there is work now.
func (w *world) noLease(id string) {
	w.t.Helper()
	res, err := w.svc.LeaseBatch(worker(), &pb.LeaseBatchRequest{WorkerId: id, WaitMs: 300})
	if err != nil {
		w.t.Fatal(err)
	}
	if res.Batch != nil {
		w.t.Fatalf("work came: %v", res.Batch)
	}
}

// page is what came of an address.
func page(target *pb.CrawlTarget) *pb.FetchedPage {
	return &pb.FetchedPage{
		UrlKey: target.UrlKey, Outcome: "fetched", StatusCode: 200, DurationMs: 12,
		Content:  &fetcherv1.PageContent{Text: "The text of " + target.Url},
		Metadata: &fetcherv1.PageMetadata{Title: "Title of " + target.Url, StatusCode: 200, FinalUrl: target.Url},
	}
}

func (w *world) commit(b *pb.CrawlBatch, part int, final bool, pages ...*pb.FetchedPage) *pb.CommitBatchResponse {
	w.t.Helper()
	res, err := w.svc.CommitBatch(worker(), &pb.CommitBatchRequest{LeaseId: b.LeaseId, Part: int32(part), Final: final, Pages: pages})
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// finish commits every page of a batch as having come.
func (w *world) finish(b *pb.CrawlBatch) {
	w.t.Helper()
	if err := finish(w.svc, b); err != nil {
		w.t.Fatal(err)
	}
}

func finish(svc *Service, b *pb.CrawlBatch) error {
	left, part := b.Targets, 1
	for {
		n := min(len(left), 8)
		req := &pb.CommitBatchRequest{LeaseId: b.LeaseId, Part: int32(part), Final: n == len(left)}
		for _, target := range left[:n] {
			req.Pages = append(req.Pages, page(target))
		}
		if _, err := svc.CommitBatch(worker(), req); err != nil || req.Final {
			return err
		}
		left, part = left[n:], part+1
	}
}

// crawl works on whatever there is until the task has ended.
func (w *world) crawl(user, id string) *pb.CrawlTask {
	w.t.Helper()
	for {
		t := w.get(user, id)
		if t.CompletedAt != nil {
			return t
		}
		res, err := w.svc.LeaseBatch(worker(), &pb.LeaseBatchRequest{WorkerId: "w1", WaitMs: 500})
		if err != nil {
			w.t.Fatal(err)
		}
		if res.Batch != nil {
			w.finish(res.Batch)
		}
	}
}

func wantError(t testing.TB, err error, code codes.Code, reason string) {
	t.Helper()
	if got := rpcerr.From(err); got.Code() != code || reason != "" && rpcerr.Reason(err) != reason {
		t.Errorf("error %v (%s, %s), want %s %s", err, got.Code(), rpcerr.Reason(err), code, reason)
	}
}

// stream collects the events of a watch.
type stream struct {
	grpc.ServerStream
	ctx    context.Context
	events chan *pb.CrawlEvent
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) Send(e *pb.CrawlEvent) error {
	select {
	case s.events <- proto.Clone(e).(*pb.CrawlEvent):
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// watch follows a task in the background. The error comes when the events are
// closed.
func watchTask(ctx context.Context, svc *Service, id string, after int) (events <-chan *pb.CrawlEvent, end func() error) {
	s := &stream{ctx: ctx, events: make(chan *pb.CrawlEvent, 1000)}
	errs := make(chan error, 1)
	go func() {
		errs <- svc.WatchCrawlTask(&pb.WatchCrawlTaskRequest{TaskId: id, AfterSeq: int32(after)}, s)
		close(s.events)
	}()
	return s.events, func() error { return <-errs }
}
