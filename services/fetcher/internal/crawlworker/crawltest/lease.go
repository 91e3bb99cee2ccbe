package crawltest

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// Lease is one batch that was handed out.
type Lease struct {
	Batch *taskmanagerv1.CrawlBatch
	// Begun is closed when a worker has it, Finished when its final part was
	// taken.
	Begun, Finished chan struct{}

	m         *Manager
	state     string // "", lost or cancelled
	last      *taskmanagerv1.CommitBatchRequest
	parts     [][]*taskmanagerv1.FetchedPage
	partAdded chan struct{} // closed and replaced with each part
}

// Lose gives the lease to somebody else, Cancel ends its task.
func (l *Lease) Lose()   { l.end("lost") }
func (l *Lease) Cancel() { l.end("cancelled") }

func (l *Lease) end(state string) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.state = state
	l.m.open--
}

// Pages are those committed, in order.
func (l *Lease) Pages() []*taskmanagerv1.FetchedPage {
	return slices.Concat(l.Parts()...)
}

// Parts are the parts committed, in order.
func (l *Lease) Parts() [][]*taskmanagerv1.FetchedPage {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return slices.Clone(l.parts)
}

// Page is the one committed for a key.
func (l *Lease) Page(t testing.TB, key string) *taskmanagerv1.FetchedPage {
	t.Helper()
	for _, p := range l.Pages() {
		if string(p.GetUrlKey()) == key {
			return p
		}
	}
	t.Fatalf("nothing was committed for %s", key)
	return nil
}

// WaitPart waits until a part was committed after the first n.
func (l *Lease) WaitPart(n int) {
	for {
		l.m.mu.Lock()
		have, added := len(l.parts), l.partAdded
		l.m.mu.Unlock()
		if have > n {
			return
		}
		<-added
	}
}

// maxPartBytes is about what a part may have.
const maxPartBytes = 2<<20 + 64<<10

func (l *Lease) check(req *taskmanagerv1.CommitBatchRequest) error {
	switch {
	case l.isFinished():
		return fmt.Errorf("comes after the final part")
	case int(req.GetPart()) != len(l.parts)+1:
		return fmt.Errorf("comes after part %d", len(l.parts))
	case !req.GetFinal() && len(req.GetPages()) == 0:
		return fmt.Errorf("is empty")
	case proto.Size(req) > maxPartBytes:
		return fmt.Errorf("has %d bytes", proto.Size(req))
	}
	known := map[string]bool{}
	for _, t := range l.Batch.GetTargets() {
		known[string(t.GetUrlKey())] = true
	}
	for _, p := range slices.Concat(l.parts...) {
		known[string(p.GetUrlKey())] = false
	}
	for _, p := range req.GetPages() {
		if !known[string(p.GetUrlKey())] {
			return fmt.Errorf("%s is not of the batch, or comes again", p.GetUrlKey())
		}
		known[string(p.GetUrlKey())] = false
	}
	return nil
}

func (l *Lease) isFinished() bool {
	select {
	case <-l.Finished:
		return true
	default:
		return false
	}
}
