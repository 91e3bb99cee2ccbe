package crawlworker

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker/crawltest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestAServerThatAsksToBeLeftAloneIsBlocked(t *testing.T) {
	answers := map[string]struct {
		status  int
		header  string
		outcome string
		after   time.Duration
	}{
		"/429":          {429, "", "blocked", 0},
		"/429-seconds":  {429, "120", "blocked", 2 * time.Minute},
		"/429-date":     {429, "date", "blocked", time.Hour},
		"/429-past":     {429, "Mon, 02 Jan 2006 15:04:05 GMT", "blocked", 0},
		"/429-junk":     {429, "soon", "blocked", 0},
		"/429-negative": {429, "-5", "blocked", 0},
		"/429-forever":  {429, "99999999999", "blocked", maxRetryAfter},
		"/503-seconds":  {503, "3", "blocked", 3 * time.Second},
		"/503-date":     {503, "date", "blocked", time.Hour},
		"/503":          {503, "", "fetched", 0},
		"/500":          {500, "", "fetched", 0},
		"/404":          {404, "", "fetched", 0},
		"/200":          {200, "7", "fetched", 7 * time.Second},
	}
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		a := answers[r.URL.Path]
		if a.header == "date" {
			a.header = time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
		}
		if a.header != "" {
			w.Header().Set("Retry-After", a.header)
		}
		w.WriteHeader(a.status)
		page(w, r)
	})
	f := newFarm(t, site)
	f.start()
	for path, want := range answers {
		p := f.crawl(crawltest.Batch(path, site.URL, crawltest.Grant(2, 0), path)).Page(t, path)
		if p.GetOutcome() != want.outcome || int(p.GetStatusCode()) != want.status || p.GetRetryable() != (want.outcome == "blocked") {
			t.Errorf("%s: %v", path, p)
		}
		if (p.GetReason() == ReasonRateLimited) != (want.outcome == "blocked") || (p.GetContent() == nil) != (want.outcome == "blocked") {
			t.Errorf("%s: reason %q, content %v", path, p.GetReason(), p.GetContent())
		}
		got := time.Duration(p.GetRetryAfterMs()) * time.Millisecond
		if got > want.after || want.header != "date" && got != want.after || want.header == "date" && got < want.after/2 {
			t.Errorf("%s: retry after %s, want %s", path, got, want.after)
		}
	}
}

func TestARedirectGoesOnlyWhereRobotsTxtAllows(t *testing.T) {
	var asked atomic.Int64
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /private\n"))
			return
		}
		if strings.HasPrefix(r.URL.Path, "/private") {
			asked.Add(1)
		}
		page(w, r)
	})
	failing := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			asked.Add(1)
		}
		w.WriteHeader(http.StatusBadGateway)
	})
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{
			"/other": other.URL + "/open", "/private": other.URL + "/private/x", "/twice": "/private",
			"/failing": failing.URL + "/x", "/own": "/p", "/forbidden": "/secret", "/inside": "http://10.0.0.1/",
		}[r.URL.Path]
		switch {
		case r.URL.Path == "/robots.txt":
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /secret\n"))
		case to != "":
			http.Redirect(w, r, to, http.StatusFound)
		case r.URL.Path == "/secret":
			asked.Add(1)
		default:
			page(w, r)
		}
	})
	f := newFarm(t, site, other, failing)
	f.start()
	l := f.crawl(crawltest.Batch("1", site.URL, crawltest.Grant(2, time.Millisecond), "/other", "/private", "/twice", "/failing", "/own", "/forbidden", "/inside"))
	for path, want := range map[string]string{
		"/other": "fetched ", "/own": "fetched ",
		"/private": "skipped ROBOTS_DISALLOWED", "/twice": "skipped ROBOTS_DISALLOWED", "/forbidden": "skipped ROBOTS_DISALLOWED",
		"/failing": "skipped ROBOTS_UNREACHABLE", "/inside": "failed CONNECT_FAILED",
	} {
		if p := l.Page(t, path); p.GetOutcome()+" "+p.GetReason() != want || (p.GetMessage() == "") != (p.GetOutcome() == "fetched") {
			t.Errorf("%s: %s %s %q, want %s", path, p.GetOutcome(), p.GetReason(), p.GetMessage(), want)
		}
	}
	if l.Page(t, "/other").GetContent().GetText() != "page /open" || asked.Load() != 0 {
		t.Errorf("%d forbidden addresses were asked for", asked.Load())
	}
}

func TestLongContentGoesToTheBlobStore(t *testing.T) {
	bodies := map[string]string{
		"/short": "ä",
		"/64k":   strings.Repeat("x", maxInlineBytes-4), // with its tag and length exactly the limit
		"/65k":   strings.Repeat("x", maxInlineBytes-3),
		"/long":  strings.Repeat("ä", 400<<10),
		"/huge":  strings.Repeat("ä", 800<<10),
	}
	site := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(bodies[r.URL.Path])) })
	f := newFarm(t, site)
	f.start()
	l := f.crawl(crawltest.Batch("1", site.URL, crawltest.Grant(3, 0), "/short", "/64k", "/65k", "/long", "/huge"))
	for path, body := range bodies {
		p := l.Page(t, path)
		content, ref := p.GetContent(), p.GetContentRef()
		if (ref != nil) == (path == "/short" || path == "/64k") {
			t.Errorf("%s: ref %v", path, ref)
		}
		if ref != nil {
			raw, err := f.cfg.Blobs.Get(t.Context(), ref.GetKey())
			if err != nil {
				t.Fatal(err)
			}
			content = &fetcherv1.PageContent{}
			if err := proto.Unmarshal(raw, content); err != nil || len(raw) != int(ref.GetSizeBytes()) || len(raw) > maxContentBytes ||
				ref.GetKey() != "crawl/task-1/"+ref.GetSha256() || p.GetContent() != nil {
				t.Errorf("%s: %v, %d bytes at %v", path, err, len(raw), ref)
			}
		}
		if p.GetTruncated() != (path == "/huge") || !p.GetTruncated() && content.GetText() != body || !strings.HasPrefix(body, content.GetText()) || len(content.GetText()) < min(len(body), maxContentBytes-16) {
			t.Errorf("%s: %d of %d bytes, truncated %v", path, len(content.GetText()), len(body), p.GetTruncated())
		}
	}
}

// fullBlobs fails so many times.
type fullBlobs struct {
	blob.Bucket
	failures atomic.Int64
}

func (b *fullBlobs) Put(ctx context.Context, key string, data []byte, contentType string) error {
	if b.failures.Add(-1) >= 0 {
		return errors.New("no space")
	}
	return b.Bucket.Put(ctx, key, data, contentType)
}

func TestABlobStoreThatFails(t *testing.T) {
	site := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", 2*maxInlineBytes)))
	})
	for _, tt := range []struct {
		name     string
		failures int64
		outcome  string
		reason   string
	}{
		{"now and then", putTries - 1, "fetched", ""},
		{"all the time", 1 << 30, "failed", ReasonContentNotStored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFarm(t, site)
			blobs := &fullBlobs{Bucket: f.cfg.Blobs}
			blobs.failures.Store(tt.failures)
			f.cfg.Blobs = blobs
			f.start()
			p := f.crawl(crawltest.Batch("1", site.URL, crawltest.Grant(1, 0), "/a")).Page(t, "/a")
			if p.GetOutcome() != tt.outcome || p.GetReason() != tt.reason || p.GetRetryable() != (tt.outcome == "failed") || (p.GetContentRef() != nil) != (tt.outcome == "fetched") {
				t.Errorf("%v", p)
			}
		})
	}
}

func TestAFailureSaysWhetherAnotherTryMayHelp(t *testing.T) {
	f := newFarm(t)
	f.cfg.Fetch = func(_ context.Context, q Query) (Page, error) {
		switch {
		case strings.HasSuffix(q.URL, "/panic"):
			panic("a page of death")
		case strings.HasSuffix(q.URL, "/pdf"):
			return Page{Metadata: &fetcherv1.PageMetadata{StatusCode: 200}}, rpcerr.New(codes.InvalidArgument, "UNSUPPORTED_CONTENT_TYPE", "a PDF")
		case strings.HasSuffix(q.URL, "/slow"):
			return Page{Duration: time.Minute}, rpcerr.New(codes.DeadlineExceeded, "FETCH_TIMEOUT", "too slow")
		}
		return Page{Content: &fetcherv1.PageContent{Text: "a\x00b\xff"}, Metadata: &fetcherv1.PageMetadata{StatusCode: 200, Title: strings.Repeat("t\x00", maxTitleBytes), FinalUrl: "http://x/\xff"}}, nil
	}
	f.start()
	l := f.crawl(crawltest.Batch("1", "http://x", crawltest.Grant(2, 0), "/panic", "/pdf", "/slow", "/odd"))
	if p := l.Page(t, "/panic"); p.GetOutcome() != "failed" || p.GetReason() != ReasonInternal || p.GetRetryable() || strings.Contains(p.GetMessage(), "death") {
		t.Errorf("panic: %v", p)
	}
	if p := l.Page(t, "/pdf"); p.GetOutcome() != "failed" || p.GetReason() != "UNSUPPORTED_CONTENT_TYPE" || p.GetRetryable() || p.GetStatusCode() != 200 || p.GetMessage() != "a PDF" {
		t.Errorf("PDF: %v", p)
	}
	if p := l.Page(t, "/slow"); p.GetOutcome() != "failed" || p.GetReason() != "FETCH_TIMEOUT" || !p.GetRetryable() || p.GetDurationMs() != 60_000 {
		t.Errorf("slow: %v", p)
	}
	if p := l.Page(t, "/odd"); p.GetContent().GetText() != "a\uFFFDb\uFFFD" || p.GetMetadata().GetFinalUrl() != "http://x/\uFFFD" || strings.Contains(p.GetMetadata().GetTitle(), "\x00") {
		t.Errorf("text that cannot be kept: %v", p)
	}
}

func TestContentIsCutFromItsEnd(t *testing.T) {
	long := strings.Repeat("ä", 100)
	tests := []struct {
		name  string
		c     *fetcherv1.PageContent
		limit int
		check func(*fetcherv1.PageContent) bool
	}{
		{"text", &fetcherv1.PageContent{Text: long}, 51, func(c *fetcherv1.PageContent) bool { return c.Text == long[:48] }},
		{"Markdown", &fetcherv1.PageContent{Markdown: long}, 51, func(c *fetcherv1.PageContent) bool { return c.Markdown == long[:48] }},
		{"the source", &fetcherv1.PageContent{Raw: long}, 51, func(c *fetcherv1.PageContent) bool { return c.Raw == long[:48] }},
		{"all text", &fetcherv1.PageContent{FullText: long}, 51, func(c *fetcherv1.PageContent) bool { return c.FullText == long[:48] }},
		{"rows of the last table, then the table", &fetcherv1.PageContent{Tables: []*fetcherv1.Table{
			{Rows: []*fetcherv1.TableRow{{Cells: []string{"a"}}, {Cells: []string{long}}}}, {Rows: []*fetcherv1.TableRow{{Cells: []string{"b"}}}}}}, 20,
			func(c *fetcherv1.PageContent) bool { return len(c.Tables) == 1 && len(c.Tables[0].Rows) == 1 }},
		{"entries of a feed", &fetcherv1.PageContent{Feed: &fetcherv1.Feed{Title: "t", Items: []*fetcherv1.FeedItem{{Title: "a"}, {Summary: long}}}}, 20,
			func(c *fetcherv1.PageContent) bool { return c.Feed.Title == "t" && len(c.Feed.Items) == 1 }},
		{"links", &fetcherv1.PageContent{Links: []*fetcherv1.Link{{Url: "a"}, {Url: long}, {Url: "c"}}}, 20, func(c *fetcherv1.PageContent) bool { return len(c.Links) == 1 }},
		{"images", &fetcherv1.PageContent{Images: []*fetcherv1.Image{{Src: "a"}, {Src: long}}}, 20, func(c *fetcherv1.PageContent) bool { return len(c.Images) == 1 }},
		{"paragraphs, then headings", &fetcherv1.PageContent{Structured: &fetcherv1.StructuredPage{
			Title: "t", Meta: map[string]string{"a": "b"}, Headings: []*fetcherv1.Heading{{Text: "h"}, {Text: long}}, Paragraphs: []string{long, "p"}}}, 40,
			func(c *fetcherv1.PageContent) bool {
				s := c.Structured
				return s.Title == "t" && s.Meta["a"] == "b" && len(s.Headings) == 1 && len(s.Paragraphs) == 0
			}},
		{"meta", &fetcherv1.PageContent{Structured: &fetcherv1.StructuredPage{Title: "t", Meta: map[string]string{"a": long}}}, 40,
			func(c *fetcherv1.PageContent) bool { return c.Structured.Title == "t" && len(c.Structured.Meta) == 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			whole := proto.Clone(tt.c).(*fetcherv1.PageContent)
			if size, cut := fit(whole, 1<<20); cut || size != proto.Size(tt.c) || !proto.Equal(whole, tt.c) {
				t.Error("cut without need")
			}
			size, cut := fit(tt.c, tt.limit)
			if !cut || size > tt.limit || size != proto.Size(tt.c) || !tt.check(tt.c) {
				t.Errorf("%d bytes, cut %v: %v", size, cut, tt.c)
			}
		})
	}
	if !slices.Equal(dropLast([]*fetcherv1.Link{}, 5), []*fetcherv1.Link{}) {
		t.Error("nothing to drop")
	}
}
