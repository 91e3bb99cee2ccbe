package fetcher

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker/crawltest"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
)

// BenchmarkWorker crawls pages in batches, and fetches and reads the same pages
// in a bare loop with as many in flight. crawl/bare is the ratio of the times,
// whose parts take turns.
func BenchmarkWorker(b *testing.B) {
	const batches, parallel, size = 8, 3, 32
	var body strings.Builder
	body.WriteString("<!doctype html><title>A page</title><nav><a href=/>Home</a></nav><article><h1>Of ferries</h1>")
	for i := range 60 {
		fmt.Fprintf(&body, "<p>Paragraph %d tells of a <a href=\"/%d\">ferry</a> that came in late, and of those who waited for it at the pier.</p>", i, i)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(body.String()))
	}))
	defer site.Close()
	c := newCrawler(b, site)
	paths := make([]string, size)
	for i := range paths {
		paths[i] = fmt.Sprint("/", i)
	}
	lease := 0
	crawl := func() {
		var all []*crawltest.Lease
		for range batches {
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
				for next.Add(1) <= batches*size {
					got, err := c.service.client.Get(context.Background(), httpfetch.Request{URL: site.URL + "/x", NoRetry: true})
					if err != nil {
						b.Error(err)
						return
					}
					p, err := readPage(got.Body, got.Header.Get("Content-Type"), nil)
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
	var crawled, fetched time.Duration
	b.ResetTimer()
	for b.Loop() {
		begin := time.Now()
		crawl()
		middle := time.Now()
		bare()
		crawled, fetched = crawled+middle.Sub(begin), fetched+time.Since(middle)
	}
	pages := float64(b.N * batches * size)
	b.ReportMetric(pages/crawled.Seconds(), "pages/s")
	b.ReportMetric(pages/fetched.Seconds(), "bare-pages/s")
	b.ReportMetric(crawled.Seconds()/fetched.Seconds(), "crawl/bare")
	b.ReportMetric(0, "ns/op")
}
