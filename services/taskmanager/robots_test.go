package taskmanager

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestRobotsIsAskedBeforeAnythingIsHandedOut(t *testing.T) {
	w := newWorld(t)
	asked := make(chan struct{})
	w.robots.say(func(urls []string) (*fetcherv1.CheckRobotsResponse, error) {
		<-asked
		res := &fetcherv1.CheckRobotsResponse{State: "rules", CrawlDelayMs: 2000, ValidMs: 3_600_000}
		for _, u := range urls {
			res.Allowed = append(res.Allowed, !strings.HasSuffix(u, "1"))
		}
		return res, nil
	})
	id := w.create("ann", pages("a.example", 3)...)
	w.noLease("w1")
	if got := w.get("ann", id); !strings.Contains(got.StallReason, "robots.txt of a.example") {
		t.Errorf("stalled by %q", got.StallReason)
	}
	close(asked)
	b := w.lease("w1")
	if len(b.Targets) != 2 || !b.Grant.RobotsDecided || b.Grant.GapMs != 2000 {
		t.Errorf("%v", b)
	}
	w.finish(b)
	got := w.get("ann", id)
	if got.Status != "completed" || got.Outcome != "partial" || got.Skipped != 1 || got.Errors[0].Reason != "ROBOTS_DISALLOWED" {
		t.Errorf("%v", got)
	}
	if n := w.robots.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestATaskThatRobotsForbidsWhollyEndsWithoutAWorker(t *testing.T) {
	w := newWorld(t)
	w.robots.say(func(urls []string) (*fetcherv1.CheckRobotsResponse, error) {
		return &fetcherv1.CheckRobotsResponse{State: "rules", ValidMs: 1000, Allowed: make([]bool, len(urls))}, nil
	})
	id := w.create("ann", pages("a.example", 3)...)
	events, end := watchTask(as("ann"), w.svc, id, 0)
	for range events {
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if got := w.get("ann", id); got.Outcome != "empty" || got.Skipped != 3 || got.StartedAt != nil {
		t.Errorf("%v", got)
	}
}

func TestOneAddressThatTheFetcherRefusesFailsAlone(t *testing.T) {
	w := newWorld(t)
	w.robots.say(func(urls []string) (*fetcherv1.CheckRobotsResponse, error) {
		if slices.ContainsFunc(urls, func(u string) bool { return strings.HasSuffix(u, "/1") }) {
			return nil, rpcerr.New(codes.InvalidArgument, "URL_REFUSED", "urls[0]: no").GRPCStatus().Err()
		}
		return &fetcherv1.CheckRobotsResponse{State: "none", ValidMs: 3_600_000}, nil
	})
	id := w.create("ann", pages("a.example", 3)...)
	if got := w.crawl("ann", id); got.Succeeded != 2 || got.Failed != 1 || got.Errors[0].Reason != "URL_REFUSED" {
		t.Errorf("%v", got)
	}
}
