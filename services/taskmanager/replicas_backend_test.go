//go:build backends

package taskmanager

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema/schematest"
)

func TestManagersShareADatabase(t *testing.T) {
	w := newWorld(t)
	second, stop := w.another()
	t.Cleanup(stop)
	managers := []*Service{w.svc, second}
	var ids []string
	for i := range 12 {
		res, err := managers[i%2].CreateCrawlTask(as(fmt.Sprint("user", i%5)), &pb.CreateCrawlTaskRequest{
			Urls: append(pages(fmt.Sprintf("h%d.example", i%4), 15), pages(fmt.Sprintf("g%d.example", i), 10)...),
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, res.TaskId)
	}
	ctx, cancel := context.WithCancel(worker())
	defer cancel()
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for ctx.Err() == nil {
				res, err := managers[i%2].LeaseBatch(ctx, &pb.LeaseBatchRequest{WorkerId: fmt.Sprint("w", i), WaitMs: 1000, MaxUrls: 7})
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if res.Batch == nil {
					continue
				}
				// It commits by the other manager.
				if err := finish(managers[(i+1)%2], res.Batch); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i, id := range ids {
		events, end := watchTask(as(fmt.Sprint("user", i%5)), managers[(i+1)%2], id, 0)
		rows := logged(collect(events))
		if err := end(); err != nil {
			t.Fatal(err)
		}
		for k, e := range rows {
			if int(e.Seq) != k+1 {
				t.Fatalf("event %d has the number %d", k+1, e.Seq)
			}
		}
		if done := rows[len(rows)-1].GetDone(); done.GetSucceeded() != 25 || done.GetOutcome() != "ok" {
			t.Errorf("%v", done)
		}
	}
	cancel()
	all.Wait()
	schematest.Check(t, w.svc.db)
}

func TestATaskMadeElsewhereIsHandedOutHere(t *testing.T) {
	w := newWorld(t)
	second, stop := w.another()
	t.Cleanup(stop)
	id := w.create("ann", pages("a.example", 5)...)
	b := lease(t, second, "w1")
	if b.TaskId != id {
		t.Errorf("%v", b)
	}
	if _, err := w.svc.CancelCrawlTask(as("ann"), &pb.CancelCrawlTaskRequest{TaskId: id}); err != nil {
		t.Fatal(err)
	}
	res, err := second.ExtendLease(worker(), &pb.ExtendLeaseRequest{WorkerId: "w1", LeaseIds: []string{b.LeaseId}})
	if err != nil || len(res.Cancelled) != 1 {
		t.Errorf("%v, %v", res, err)
	}
	got, err := second.CommitBatch(worker(), &pb.CommitBatchRequest{LeaseId: b.LeaseId, Part: 1, Final: true, Pages: []*pb.FetchedPage{page(b.Targets[0])}})
	if err != nil || !got.Cancelled || got.Recorded != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatADeadManagerHandedOutComesBack(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", pages("a.example", 5)...)
	w.lease("gone")
	w.stop()
	w.start()
	began := time.Now()
	w.finish(w.lease("w1"))
	if took := time.Since(began); took < 5*time.Second {
		t.Errorf("a lease that may be held was given away after %s", took)
	}
	if got := w.get("ann", id); got.Succeeded != 5 {
		t.Errorf("%v", got)
	}
}
