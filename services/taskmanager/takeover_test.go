//go:build !backends

package taskmanager

import (
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// On a server, where replicas may be alive, what a dead one held lapses by itself.
func TestAManagerGoesOnWithWhatTheOneBeforeLeft(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", pages("a.example", 10)...)
	b := w.lease("w1")
	w.commit(b, 1, false, page(b.Targets[0]))
	w.stop()
	w.start()
	if next := w.lease("w2"); len(next.Targets) != 9 {
		t.Errorf("%d are left", len(next.Targets))
	} else {
		w.finish(next)
	}
	_, err := w.svc.CommitBatch(worker(), &pb.CommitBatchRequest{LeaseId: b.LeaseId, Part: 2, Final: true, Pages: []*pb.FetchedPage{page(b.Targets[1])}})
	wantError(t, err, codes.Aborted, ReasonLeaseLost)
	if got := w.get("ann", id); got.Status != "completed" || got.Succeeded != 10 {
		t.Errorf("%v", got)
	}
}
