package fetcher

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker/crawltest"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
)

// BenchmarkWorker crawls pages in batches, each of a host of its own, and fetches
// and reads the same pages in a bare loop with as many in flight. crawl/bare is the ratio of the CPU times
// of this process, site included, whose parts take turns.
func BenchmarkWorker(b *testing.B) {
	const batches, parallel, size = 8, 3, 32
	var body strings.Builder
	body.WriteString("<!doctype html><title>A page</title><nav><a href=/>Home</a></nav><article><h1>Of ferries</h1>")
	for i := range 60 {
		fmt.Fprintf(&body, "<p>Paragraph %d tells of a <a href=\"/%d\">ferry</a> that came in late, and of those who waited for it at the pier.</p>", i, i)
	}
	sites := make([]*httptest.Server, batches)
	for i := range sites {
		sites[i] = httptest.NewServer(serveBody("text/html; charset=utf-8", body.String()))
		defer sites[i].Close()
	}
	c := newCrawler(b, sites...)
	paths := make([]string, size)
	for i := range paths {
		paths[i] = fmt.Sprint("/", i)
	}
	lease := 0
	crawl := func() {
		var all []*crawltest.Lease
		for _, site := range sites {
			lease++
			all = append(all, c.manager.Offer(crawltest.Batch(fmt.Sprint(lease), site.URL, crawltest.Grant(parallel, 0), paths...)))
		}
		for _, l := range all {
			<-l.Finished
		}
	}
	bare := func() {
		var next atomic.Int64
		var all sync.WaitGroup
		for range batches * parallel {
			all.Go(func() {
				for i := next.Add(1); i <= batches*size; i = next.Add(1) {
					got, err := c.service.client.Get(context.Background(), httpfetch.Request{URL: sites[i%batches].URL + "/x", NoRetry: true})
					if err != nil {
						b.Error(err)
						return
					}
					p, err := readPage(context.Background(), c.service.docs, source{body: got.Body, contentType: got.Header.Get("Content-Type"), maxText: maxContentBytes})
					if err != nil || p.text() == "" {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
	crawl()
	bare()
	var crawled, fetched, crawlCPU, bareCPU time.Duration
	b.ResetTimer()
	for b.Loop() {
		c.manager.Forget()
		spans.Reset()
		begin, cpu := time.Now(), processCPU(b)
		crawl()
		crawled, crawlCPU = crawled+time.Since(begin), crawlCPU+processCPU(b)-cpu
		begin, cpu = time.Now(), processCPU(b)
		bare()
		fetched, bareCPU = fetched+time.Since(begin), bareCPU+processCPU(b)-cpu
	}
	pages := float64(b.N * batches * size)
	b.ReportMetric(pages/crawled.Seconds(), "pages/s")
	b.ReportMetric(pages/fetched.Seconds(), "bare-pages/s")
	b.ReportMetric(crawlCPU.Seconds()/bareCPU.Seconds(), "crawl/bare")
	b.ReportMetric(0, "ns/op")
}

// processCPU is the CPU time of the process.
func processCPU(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
