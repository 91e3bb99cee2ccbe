package taskmanager

import (
	"testing"
)

func TestABatchIsFetchedToItsEnd(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", append(pages("a.example", 10), pages("b.example", 3)...)...)
	got := w.crawl("ann", id)
	if got.Status != "completed" || got.Outcome != "ok" || got.Total != 13 || got.Succeeded != 13 || got.Percent != 100 || len(got.Results) != 13 {
		t.Errorf("%v", got)
	}
}
