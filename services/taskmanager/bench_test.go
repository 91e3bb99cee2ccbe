package taskmanager

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// BenchmarkLeaseAndCommit tells what a page costs the manager without any
// network: one operation is a page of a task with 50, leased and committed in
// parts of 8, with the tasks of many users going on at once.
func BenchmarkLeaseAndCommit(b *testing.B) {
	for _, c := range []struct {
		name  string
		hosts int
		chars int
	}{{"one host a task", 1, 2_000}, {"fifty hosts a task", 50, 2_000}, {"long texts", 1, 30_000}} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b)
			content := &fetcherv1.PageContent{Text: strings.Repeat("word ", c.chars/5)}
			b.ResetTimer()
			spent := cpuTime(b)
			left := b.N
			for round := 0; left > 0; round++ {
				left -= crawlRound(w, round, c.hosts, content)
			}
			b.StopTimer()
			b.ReportMetric(float64((cpuTime(b)-spent).Microseconds())/float64(b.N), "cpu-µs/page")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
		})
	}
}

// cpuTime is what this process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// crawlRound crawls a batch of tasks of different users with four workers.
func crawlRound(w *world, round, hosts int, content *fetcherv1.PageContent) (pages int) {
	const tasks, workers = 8, 4
	for i := range tasks {
		var urls []string
		for j := range MaxURLs {
			urls = append(urls, fmt.Sprintf("https://h%d-%d.example/%d", i, j%hosts, j))
		}
		parallel := int32(MaxParallel)
		if _, err := w.svc.CreateCrawlTask(as(fmt.Sprint("user", i)), &pb.CreateCrawlTaskRequest{Urls: urls, Parallel: &parallel}); err != nil {
			w.t.Fatal(err)
		}
	}
	total := tasks * MaxURLs
	done := make(chan int)
	for k := range workers {
		go func() { done <- workUntilDry(w, fmt.Sprint("w", k), content) }()
	}
	for range workers {
		pages += <-done
	}
	for pages < total {
		pages += workUntilDry(w, "last", content)
	}
	return total
}

// workUntilDry is a worker that stops when there is nothing to do for a moment.
func workUntilDry(w *world, id string, content *fetcherv1.PageContent) (pages int) {
	for {
		res, err := w.svc.LeaseBatch(worker(), &pb.LeaseBatchRequest{WorkerId: id, WaitMs: 100})
		if err != nil {
			w.t.Error(err)
			return pages
		}
		if res.Batch == nil {
			return pages
		}
		left := res.Batch.Targets
		for part := int32(1); len(left) > 0; part++ {
			n := min(len(left), 8)
			req := &pb.CommitBatchRequest{LeaseId: res.Batch.LeaseId, Part: part, Final: n == len(left)}
			for _, target := range left[:n] {
				p := page(target)
				p.Content = content
				req.Pages = append(req.Pages, p)
			}
			if _, err := w.svc.CommitBatch(worker(), req); err != nil {
				w.t.Error(err)
				return pages
			}
			pages += n
			left = left[n:]
		}
	}
}
