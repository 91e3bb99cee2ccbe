package crawlworker

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker/crawltest"
)

func TestABatchIsFetchedAndCommittedInParts(t *testing.T) {
	site := serve(t, page)
	f := newFarm(t, site)
	f.cfg.Times.PartAge = time.Hour
	f.start()
	for _, n := range []int{0, 1, 7, 8, 9, 16, 32} {
		l := f.crawl(crawltest.Batch(fmt.Sprint("of-", n), site.URL, crawltest.Grant(3, 0), paths(n)...))
		for _, path := range paths(n) {
			p := l.Page(t, path)
			if p.GetOutcome() != "fetched" || p.GetContent().GetText() != "page "+path || p.GetStatusCode() != 200 ||
				p.GetMetadata().GetFinalUrl() != site.URL+path || p.GetDurationMs() != 1 || p.GetTruncated() || p.GetReason() != "" {
				t.Errorf("%s: %v", path, p)
			}
		}
		if parts, want := len(l.Parts()), max(1, (n+7)/8); parts != want {
			t.Errorf("%d pages came in %d parts, want %d", n, parts, want)
		}
	}
}

func TestAPageDoesNotWaitForOthersForLong(t *testing.T) {
	release := make(chan struct{})
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-release
		}
		page(w, r)
	})
	f := newFarm(t, site)
	f.start()
	l := f.manager.Offer(crawltest.Batch("1", site.URL, crawltest.Grant(2, 0), "/slow", "/quick"))
	l.WaitPart(0)
	if got := l.Pages(); len(got) != 1 || string(got[0].GetUrlKey()) != "/quick" {
		t.Errorf("first part: %v", got)
	}
	close(release)
	<-l.Finished
	if got := l.Pages(); len(got) != 2 {
		t.Errorf("%d pages", len(got))
	}
}

func TestNoMoreBatchesAreTakenThanTheWorkerMay(t *testing.T) {
	release := make(chan struct{})
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		page(w, r)
	})
	f := newFarm(t, site)
	f.cfg.MaxBatches = 2
	f.start()
	var all []*crawltest.Lease
	for i := range 6 {
		all = append(all, f.manager.Offer(crawltest.Batch(fmt.Sprint(i), site.URL, crawltest.Grant(1, 0), "/a", "/b")))
	}
	<-all[1].Begun
	close(release)
	for _, l := range all {
		<-l.Finished
	}
	if most := f.manager.Most(); most != 2 {
		t.Errorf("%d batches at once", most)
	}
}

// hang never finishes its bodies, and says when a client left. Its other pages
// wait for the gate, where there is one.
type hang struct {
	gate          chan struct{}
	site          *httptest.Server
	entered, left atomic.Int64
	change        chan struct{}
}

func newHang(t *testing.T) *hang {
	h := &hang{change: make(chan struct{}, 100)}
	h.site = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path[:2] != "/h" {
			if h.gate != nil {
				<-h.gate
			}
			page(w, r)
			return
		}
		_, _ = w.Write([]byte("and then"))
		_ = http.NewResponseController(w).Flush()
		h.entered.Add(1)
		h.change <- struct{}{}
		<-r.Context().Done()
		h.left.Add(1)
		h.change <- struct{}{}
	})
	return h
}

func (h *hang) wait(n *atomic.Int64, want int64) {
	for n.Load() < want {
		<-h.change
	}
}

func TestACancelledOrLostBatchStopsAtOnceAndItsPagesAreDropped(t *testing.T) {
	for name, end := range map[string]func(*crawltest.Lease){"cancelled": (*crawltest.Lease).Cancel, "lost": (*crawltest.Lease).Lose} {
		t.Run(name, func(t *testing.T) {
			h := newHang(t)
			f := newFarm(t, h.site)
			f.cfg.Times.PartAge = time.Hour // what came waits for more
			f.cfg.MaxBatches = 1
			f.start()
			l := f.manager.Offer(crawltest.Batch("1", h.site.URL, crawltest.Grant(3, 0), "/quick", "/h1", "/h2", "/h3", "/h4"))
			h.wait(&h.entered, 3)
			end(l)
			h.wait(&h.left, 3)
			next := f.crawl(crawltest.Batch("2", h.site.URL, crawltest.Grant(1, 0), "/a"))
			if len(l.Parts()) != 0 || len(next.Pages()) != 1 || h.entered.Load() != 3 {
				t.Errorf("%d parts committed, %d of the next batch, %d requests", len(l.Parts()), len(next.Pages()), h.entered.Load())
			}
		})
	}
}

func TestACommitThatComesTooLateEndsTheBatch(t *testing.T) {
	for name, end := range map[string]func(*crawltest.Lease){"cancelled": (*crawltest.Lease).Cancel, "lost": (*crawltest.Lease).Lose} {
		t.Run(name, func(t *testing.T) {
			h := newHang(t)
			h.gate = make(chan struct{})
			f := newFarm(t, h.site)
			f.cfg.Times.Extend = time.Hour // the commit is the first to hear of it
			f.cfg.Times.PartAge = time.Hour
			f.start()
			var quick []string
			for i := range maxPartPages {
				quick = append(quick, fmt.Sprint("/q", i))
			}
			b := crawltest.Batch("1", h.site.URL, crawltest.Grant(2, 0), append([]string{"/h1"}, quick...)...)
			b.Targets = append(b.Targets, &taskmanagerv1.CrawlTarget{UrlKey: []byte("/h2"), Url: h.site.URL + "/h2"})
			l := f.manager.Offer(b)
			<-l.Begun
			h.wait(&h.entered, 1)
			end(l)
			close(h.gate)
			h.wait(&h.left, 1)
			if n := len(l.Parts()); n != 0 {
				t.Errorf("%d parts", n)
			}
		})
	}
}

func TestTheManagerGoesAwayAndComesBack(t *testing.T) {
	site := serve(t, page)
	f := newFarm(t, site)
	f.start()
	l := f.manager.Offer(crawltest.Batch("1", site.URL, crawltest.Grant(1, 10*time.Millisecond), paths(20)...))
	l.WaitPart(0)
	f.manager.Away(status.Error(codes.Unavailable, "away"))
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for f.log.count("does not answer") == 0 {
		<-tick.C
	}
	f.manager.Away(nil)
	<-l.Finished
	if n := len(l.Pages()); n != 20 {
		t.Errorf("%d pages", n)
	}
	next := f.crawl(crawltest.Batch("2", site.URL, crawltest.Grant(1, 0), "/a"))
	if len(next.Pages()) != 1 {
		t.Error("nothing new is fetched")
	}
	if away, back := f.log.count("does not answer"), f.log.count("answers again"); away != 1 || back != 1 {
		t.Errorf("said %d times that it is away and %d times that it is back", away, back)
	}
}

func TestAPartWhoseAnswerWasLostIsSentAgainAsItWas(t *testing.T) {
	site := serve(t, page)
	f := newFarm(t, site)
	f.start()
	lost := true
	f.manager.Lost(func(*taskmanagerv1.CommitBatchRequest) error {
		if lost = !lost; lost {
			return nil
		}
		return status.Error(codes.Unavailable, "the answer is lost")
	})
	l := f.crawl(crawltest.Batch("1", site.URL, crawltest.Grant(3, 0), paths(30)...))
	if n := len(l.Pages()); n != 30 {
		t.Errorf("%d pages", n)
	}
}

func TestWhatCameIsCommittedWhenTheWorkerStops(t *testing.T) {
	for name, stop := range map[string]func(*farm){
		"its context ends": (*farm).halt,
		"it is drained":    func(f *farm) { f.worker.Drain(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHang(t)
			f := newFarm(t, h.site)
			f.cfg.Times.PartAge = time.Hour
			f.start()
			l := f.manager.Offer(crawltest.Batch("1", h.site.URL, crawltest.Grant(1, 0), append(paths(11), "/h1", "/h2")...))
			h.wait(&h.entered, 1)
			stop(f)
			select {
			case <-l.Finished:
			default:
				t.Error("no final part")
			}
			if len(l.Pages()) != 11 || h.entered.Load() != 1 {
				t.Errorf("%d pages, %d requests that hang", len(l.Pages()), h.entered.Load())
			}
			<-f.stopped // also without the end of its context
		})
	}
}

func TestAWorkerThatNeverRanIsDrainedAtOnce(t *testing.T) {
	f := newFarm(t)
	w := New(f.cfg)
	w.Drain(context.Background())
	if err := w.Run(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestAPartThatIsRefusedDoesNotComeBackForEver(t *testing.T) {
	site := serve(t, page)
	f := newFarm(t, site)
	f.start()
	f.manager.Refuse(func(req *taskmanagerv1.CommitBatchRequest) error {
		for _, p := range req.GetPages() {
			if p.GetContent().GetText() == "page /p0" {
				return status.Error(codes.InvalidArgument, "bad")
			}
		}
		return nil
	})
	l := f.crawl(crawltest.Batch("1", site.URL, crawltest.Grant(1, 0), paths(10)...))
	if p := l.Page(t, "/p0"); p.GetOutcome() != "failed" || p.GetReason() != ReasonResultRefused || p.GetContent() != nil {
		t.Errorf("the page: %v", p)
	}
	if p := l.Page(t, "/p9"); p.GetOutcome() != "fetched" {
		t.Errorf("a page of another part: %v", p)
	}
}

func TestAManagerThatTakesNothingDoesNotHoldTheWorker(t *testing.T) {
	site := serve(t, page)
	f := newFarm(t, site)
	f.cfg.MaxBatches = 1
	f.start()
	f.manager.Refuse(func(req *taskmanagerv1.CommitBatchRequest) error {
		if req.GetLeaseId() == "1" {
			return status.Error(codes.PermissionDenied, "not you")
		}
		return nil
	})
	f.manager.Offer(crawltest.Batch("1", site.URL, crawltest.Grant(1, 0), "/a"))
	if l := f.crawl(crawltest.Batch("2", site.URL, crawltest.Grant(1, 0), "/b")); len(l.Pages()) != 1 {
		t.Errorf("pages %v", l.Pages())
	}
}
