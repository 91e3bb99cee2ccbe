package fetcher

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
	"google.golang.org/protobuf/proto"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker/crawltest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
)

// crawler is a running service with a task manager.
type crawler struct {
	manager *crawltest.Manager
	service *Service
	blobs   blob.Bucket
}

func newCrawler(t testing.TB, sites ...*httptest.Server) *crawler {
	t.Helper()
	var allow []string
	for _, s := range sites {
		allow = append(allow, s.Listener.Addr().String())
	}
	guard, err := netguard.New(netguard.Config{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	c := &crawler{manager: crawltest.New(t)}
	if c.blobs, err = blob.Open(context.Background(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	c.service, err = New(context.Background(), DefaultConfig(), Deps{Guard: guard, Tasks: c.manager.Conn(), Blobs: c.blobs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.service.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := c.service.Close(); err != nil {
			t.Error(err)
		}
		_ = c.blobs.Close()
	})
	return c
}

// pages are what servers send, by path.
func pages(t testing.TB) map[string]func(http.ResponseWriter, *http.Request) {
	t.Helper()
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("<title>网页</title><p>这个网页使用国标编码，没有写明。我们仍然可以读出来。</p>")
	if err != nil {
		t.Fatal(err)
	}
	var links strings.Builder
	for i := range 150 {
		fmt.Fprintf(&links, `<p><a href="/%d">link number %d of a page with many</a><img src="/%d.png"></p>`, i, i, i)
	}
	return map[string]func(http.ResponseWriter, *http.Request){
		"/news":  serveBody("text/html; charset=utf-8", newsPage),
		"/gbk":   serveBody("text/html", gbk),
		"/latin": serveBody("text/html; charset=iso-8859-1", "<p>caf\xe9 and cr\xe8me, on a terrace in the morning sun</p>"),
		"/links": serveBody("text/html", links.String()),
		"/json":  serveBody("application/json", `{"a": [1, 2]}`),
		"/empty": serveBody("text/html", ""),
		"/long":  serveBody("text/plain; charset=utf-8", strings.Repeat("a longer text ", 10_000)),
		"/missing": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(404)
			serveBody("text/html", "<title>Gone</title><p>No such page here.")(w, r)
		},
		"/redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/news", http.StatusFound) },
	}
}

func TestACrawledPageIsReadAsAFetchedOne(t *testing.T) {
	all := pages(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := all[r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer site.Close()
	c := newCrawler(t, site)
	for _, extract := range []string{"", "text", "links", "images", "structured"} {
		b := crawltest.Batch("as-"+extract, site.URL, crawltest.Grant(3, 0), slices.Sorted(maps.Keys(all))...)
		b.ExtractType = extract
		l := c.manager.Offer(b)
		<-l.Finished
		for path := range all {
			want, err := c.service.Fetch(context.Background(), &fetcherv1.FetchRequest{Url: site.URL + path, ExtractType: extract, MaxChars: proto.Int32(maxMaxChars)})
			if err != nil {
				t.Fatal(err)
			}
			got := l.Page(t, path)
			content := got.GetContent()
			if ref := got.GetContentRef(); ref != nil {
				raw, err := c.blobs.Get(context.Background(), ref.GetKey())
				content = &fetcherv1.PageContent{}
				if err != nil || proto.Unmarshal(raw, content) != nil {
					t.Fatal(err)
				}
			}
			if got.GetOutcome() != "fetched" || !proto.Equal(content, want.GetContent()) || !proto.Equal(got.GetMetadata(), want.GetMetadata()) || got.GetTruncated() != want.GetTruncated() {
				t.Errorf("%s %s:\ncrawled %v\nfetched %v", extract, path, got, want)
			}
		}
	}
}

func TestTextOverWhatIsKeptIsMarkedTruncated(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serveBody("text/plain; charset=utf-8", map[string]string{
			"/over": strings.Repeat("汉字", 250_000), "/within": strings.Repeat("字", 150),
		}[r.URL.Path])(w, r)
	}))
	defer site.Close()
	c := newCrawler(t, site)
	for _, tt := range []struct {
		path      string
		chars     int32
		truncated bool
	}{{"/over", 0, true}, {"/within", 0, false}, {"/within", 100, true}, {"/within", 1, true}, {"/within", 1 << 30, false}} {
		b := crawltest.Batch(fmt.Sprint(tt.path[1:], tt.chars), site.URL, crawltest.Grant(1, 0), tt.path)
		b.MaxChars = tt.chars
		l := c.manager.Offer(b)
		<-l.Finished
		if p := l.Page(t, tt.path); p.GetOutcome() != "fetched" || p.GetTruncated() != tt.truncated || p.GetContentRef().GetSizeBytes() > maxContentBytes {
			t.Errorf("%s with %d characters: truncated %v, ref %v", tt.path, tt.chars, p.GetTruncated(), p.GetContentRef())
		}
	}
}

func TestPagesThatCannotBeCrawledSayWhy(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = w.Write([]byte("User-agent: nanoclaw\nDisallow: /secret\n"))
		case "/pdf":
			serveBody("application/pdf", "%PDF-1.7\n%\xe2\xe3\xcf\xd3")(w, r)
		case "/reset":
			panic(http.ErrAbortHandler)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/to-secret":
			http.Redirect(w, r, "/secret", http.StatusFound)
		case "/inside":
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
		case "/busy":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer site.Close()
	c := newCrawler(t, site)
	want := map[string]string{
		"/pdf": "failed DOCUMENT_DAMAGED false", "/reset": "failed CONNECT_FAILED true", "/loop": "failed BAD_REDIRECT false",
		"/to-secret": "skipped ROBOTS_DISALLOWED false", "/inside": "failed PRIVATE_ADDRESS false", "/busy": "blocked RATE_LIMITED true",
	}
	leases := map[string]*crawltest.Lease{}
	for path, words := range want {
		l := c.manager.Offer(crawltest.Batch(path, site.URL, crawltest.Grant(2, 0), path))
		<-l.Finished
		leases[path] = l
		p := l.Page(t, path)
		if got := fmt.Sprintln(p.GetOutcome(), p.GetReason(), p.GetRetryable()); got != words+"\n" || p.GetMessage() == "" {
			t.Errorf("%s: %s%s, want %s", path, got, p.GetMessage(), words)
		}
	}
	if busy := leases["/busy"].Page(t, "/busy"); busy.GetRetryAfterMs() != 7000 || busy.GetMetadata().GetAttempts() != 1 {
		t.Errorf("429: %v", busy)
	}
	if pdf := leases["/pdf"].Page(t, "/pdf"); pdf.GetStatusCode() != 200 || pdf.GetMetadata().GetContentType() != "application/pdf" {
		t.Errorf("PDF: %v", pdf)
	}
}

func TestWithoutATaskManagerNothingIsCrawled(t *testing.T) {
	s := newSite(t, serveBody("text/html", newsPage))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.service.Run(ctx) }()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(context.Background(), DefaultConfig(), Deps{Guard: guard, Tasks: crawltest.New(t).Conn()}); err == nil {
		t.Error("a worker without a blob store")
	}
}
