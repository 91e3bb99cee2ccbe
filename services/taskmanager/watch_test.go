package taskmanager

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// logged are the events with a number.
func logged(events []*pb.CrawlEvent) (out []*pb.CrawlEvent) {
	for _, e := range events {
		if e.Seq > 0 {
			out = append(out, e)
		}
	}
	return out
}

func collect(events <-chan *pb.CrawlEvent) (all []*pb.CrawlEvent) {
	for e := range events {
		all = append(all, e)
	}
	return all
}

func TestAWatchTellsEverythingOnceAndEndsAfterDone(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", append(pages("a.example", 20), "not an address")...)
	events, end := watchTask(as("ann"), w.svc, id, 0)
	first := <-events
	if p := first.GetProgress(); p == nil || p.Total != 21 || p.Failed != 1 || first.Seq != 0 {
		t.Errorf("the first is %v", first)
	}
	w.crawl("ann", id)
	all := collect(events)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	rows := logged(all)
	results := map[int32]bool{}
	for i, e := range rows {
		if int(e.Seq) != i+1 {
			t.Fatalf("event %d has the number %d", i+1, e.Seq)
		}
		if p := e.GetPage(); p != nil {
			results[p.ResultSeq] = true
			if p.Ok == (p.Error != nil) || p.Ok && (p.Title == "" || p.StatusCode != 200) {
				t.Errorf("%v", p)
			}
		}
	}
	if rows[0].GetState().GetStatus() != "pending" || rows[1].GetPage() == nil || rows[2].GetState().GetStatus() != "running" {
		t.Errorf("it begins with %v", rows[:3])
	}
	last := all[len(all)-1].GetDone()
	if len(results) != 21 || last == nil || last.Status != "completed" || last.Outcome != "partial" || last.Succeeded != 20 || last.Total != 21 {
		t.Errorf("%d results, the last is %v", len(results), all[len(all)-1])
	}
	percent := int32(0)
	for _, e := range all {
		if p := e.GetProgress(); p != nil {
			if p.Percent < percent {
				t.Errorf("progress falls from %d to %d", percent, p.Percent)
			}
			percent = p.Percent
		}
	}
}

func TestAWatchGoesOnAfterAnyEvent(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", pages("a.example", 5)...)
	last := int(w.crawl("ann", id).LastSeq)
	for after := 0; after <= last; after++ {
		events, end := watchTask(as("ann"), w.svc, id, after)
		all := collect(events)
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if all[0].GetProgress() == nil || len(logged(all)) != last-after {
			t.Errorf("after %d: %d events", after, len(logged(all)))
		}
	}
	events, _ := watchTask(as("ann", "last-event-id", "3"), w.svc, id, 0)
	if rows := logged(collect(events)); rows[0].Seq != 4 {
		t.Errorf("the header is passed over: %v", rows[0])
	}
	_, end := watchTask(as("ann"), w.svc, id, last+1)
	wantError(t, end(), codes.InvalidArgument, "")
}

func TestAWatchTellsOfHosts(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", append(pages("a.example", 2), pages("b.example", 1)...)...)
	first, second := w.lease("w1"), w.lease("w2")
	events, _ := watchTask(as("ann"), w.svc, id, 0)
	states := map[string]string{}
	for e := range events {
		if h := e.GetHost(); h != nil {
			states[h.Host] = h.State
		}
		if len(states) == 2 {
			break
		}
	}
	if states["a.example:443"] != "fetching" || states["b.example:443"] != "fetching" {
		t.Errorf("%v", states)
	}
	w.finish(first)
	w.finish(second)
	collect(events)
}

func TestAWatchEndsWithACancelOrADrainAndNotBefore(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", pages("a.example", 2)...)
	cancelled, _ := watchTask(as("ann"), w.svc, id, 0)
	<-cancelled
	if _, err := w.svc.CancelCrawlTask(as("ann"), &pb.CancelCrawlTaskRequest{TaskId: id}); err != nil {
		t.Fatal(err)
	}
	if all := collect(cancelled); all[len(all)-1].GetDone().GetStatus() != "cancelled" {
		t.Errorf("%v", all)
	}
	id = w.create("ann", pages("a.example", 2)...)
	drained, end := watchTask(as("ann"), w.svc, id, 0)
	<-drained
	gone, stop := context.WithCancel(as("ann"))
	left, endLeft := watchTask(gone, w.svc, id, 0)
	<-left
	stop()
	if err := endLeft(); err == nil {
		t.Error("a reader that left is told nothing")
	}
	w.svc.Drain(t.Context())
	all := collect(drained)
	if bye := all[len(all)-1].GetBye(); bye == nil || !bye.Resume || bye.Reason != "drain" || end() != nil {
		t.Errorf("%v", all)
	}
	_, err := w.svc.LeaseBatch(worker(), &pb.LeaseBatchRequest{WorkerId: "w1", WaitMs: 30_000})
	wantError(t, err, codes.Unavailable, ReasonShuttingDown) // nor is anything handed out
}
