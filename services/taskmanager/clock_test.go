//go:build !backends

package taskmanager

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// What takes time runs on a clock of its own. A server has one that is not ours.

// TestAHostWhoseRobotsCannotBeReadIsGivenUp runs on a clock of its own: the host
// is asked three times, over about half a minute.
func TestAHostWhoseRobotsCannotBeReadIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		began := time.Now()
		w.robots.say(func([]string) (*fetcherv1.CheckRobotsResponse, error) {
			return &fetcherv1.CheckRobotsResponse{State: "unreachable", ValidMs: 1000, Reason: "the server answered 503"}, nil
		})
		id := w.create("ann", pages("a.example", 3)...)
		time.Sleep(2 * time.Second)
		if got := w.get("ann", id); !strings.Contains(got.StallReason, "a.example:443 until") || !strings.Contains(got.StallReason, "503") {
			t.Errorf("stalled by %q", got.StallReason)
		}
		events, _ := watchTask(as("ann"), w.svc, id, 0)
		for range events {
		}
		got := w.get("ann", id)
		if got.Outcome != "empty" || got.Failed != 3 || got.Errors[0].Reason != "HOST_UNAVAILABLE" || w.robots.asked.Load() != 3 {
			t.Errorf("%v, asked %d times", got, w.robots.asked.Load())
		}
		if d := time.Since(began); d < 35*time.Second || d > 45*time.Second {
			t.Errorf("it took %s", d)
		}
		w.stop()
	})
}

// TestAHostIsAskedNoMoreOftenThanItBears runs on a clock of its own: two tasks of
// one host, a worker that keeps to its grants, and a Crawl-delay of 1 s.
func TestAHostIsAskedNoMoreOftenThanItBears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.robots.say(func([]string) (*fetcherv1.CheckRobotsResponse, error) {
			return &fetcherv1.CheckRobotsResponse{State: "rules", CrawlDelayMs: 1000, ValidMs: 3_600_000}, nil
		})
		for _, user := range []string{"ann", "bob"} {
			w.create(user, pages("a.example", 12)...)
		}
		var starts []time.Time
		tasks := map[string]bool{}
		for len(starts) < 24 {
			b := w.lease("w1")
			tasks[b.TaskId] = true
			if len(b.Targets) > 5 {
				t.Errorf("a batch of %d keeps the host too long", len(b.Targets))
			}
			if len(starts) < 10 && len(starts) > 0 && len(tasks) < 2 {
				t.Error("the second task waits for the whole first")
			}
			for i := range b.Targets {
				if i > 0 {
					time.Sleep(time.Duration(b.Grant.GapMs) * time.Millisecond)
				}
				starts = append(starts, time.Now())
			}
			w.finish(b)
		}
		for i := 1; i < len(starts); i++ {
			if gap := starts[i].Sub(starts[i-1]); gap < time.Second {
				t.Errorf("request %d came %s after the one before", i, gap)
			}
		}
		if took := starts[23].Sub(starts[0]); took > 26*time.Second {
			t.Errorf("24 requests took %s", took)
		}
		w.stop()
	})
}

func TestAWorkerThatIsLostLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		id := w.create("ann", pages("a.example", 10)...)
		b := w.lease("w1")
		w.commit(b, 1, false, page(b.Targets[0]), page(b.Targets[1]))
		time.Sleep(10 * time.Second)
		if res, err := w.svc.ExtendLease(worker(), &pb.ExtendLeaseRequest{WorkerId: "w1", LeaseIds: []string{b.LeaseId}}); err != nil || len(res.Lost) != 0 {
			t.Errorf("%v, %v", res, err)
		}
		began := time.Now()
		next := w.lease("w2")
		if took := time.Since(began); took < 14*time.Second || took > 17*time.Second {
			t.Errorf("the lease lasted %s", took)
		}
		if len(next.Targets) != 8 || next.Targets[0].Attempts != 0 {
			t.Errorf("%v", next.Targets)
		}
		_, err := w.svc.CommitBatch(worker(), &pb.CommitBatchRequest{LeaseId: b.LeaseId, Part: 2, Final: true, Pages: []*pb.FetchedPage{page(b.Targets[5])}})
		wantError(t, err, codes.Aborted, ReasonLeaseLost)
		w.finish(next)
		if got := w.get("ann", id); got.Succeeded != 10 || got.Status != "completed" {
			t.Errorf("%v", got)
		}
		w.stop()
	})
}

func TestATaskSaysWhyNothingMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config, _ *Deps) { c.RunningPerUser = 1 })
		stalled := func(id, words string) {
			t.Helper()
			if got := w.get("ann", id).StallReason; !strings.Contains(got, words) || words == "" && got != "" {
				t.Errorf("stalled by %q, want %q", got, words)
			}
		}
		first := w.create("ann", pages("a.example", 2)...)
		synctest.Wait()
		stalled(first, "")
		time.Sleep(20 * time.Second)
		stalled(first, "no crawl worker")
		b := w.lease("w1")
		stalled(first, "")
		second := w.create("ann", "https://b.example/")
		stalled(second, "1 of your tasks runs already")
		third := w.create("bob", "https://a.example/")
		if got := w.get("bob", third).StallReason; !strings.Contains(got, "robots.txt") && !strings.Contains(got, "another task is at a.example:443") {
			t.Errorf("stalled by %q", got)
		}
		w.commit(b, 1, true, &pb.FetchedPage{UrlKey: b.Targets[0].UrlKey, Outcome: "blocked", StatusCode: 429, RetryAfterMs: 60_000})
		stalled(first, "asked to be left alone (the server answered 429")
		if _, err := w.svc.CancelCrawlTask(as("bob"), &pb.CancelCrawlTaskRequest{TaskId: third}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		w.lease("w1")
		stalled(first, "")
		w.stop()
	})
}

func TestManyTasksOfOneUserDoNotKeepAnotherWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 50 {
			w.create("ann", pages(fmt.Sprintf("h%d.example", i), 50)...)
		}
		for range 5 {
			w.finish(w.lease("w1"))
		}
		id := w.create("bob", "https://bob.example/")
		synctest.Wait() // until robots.txt is known
		if b := w.lease("w1"); b.TaskId != id {
			t.Errorf("bob waits behind ann: %v", b)
		}
		w.stop()
	})
}

func TestAWorkerIsAnsweredBeforeItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithTimeout(worker(), 5*time.Second)
		defer cancel()
		began := time.Now()
		res, err := w.svc.LeaseBatch(ctx, &pb.LeaseBatchRequest{WorkerId: "w1", WaitMs: 30_000})
		if took := time.Since(began); err != nil || res.Batch != nil || took < 4*time.Second || took >= 5*time.Second {
			t.Errorf("%v, %v after %s", res, err, took)
		}
		w.stop()
	})
}
