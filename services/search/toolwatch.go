package search

import (
	"fmt"
	"sync"

	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// toldOf tells those who watch a call what its search does.
type toldOf struct {
	call  *toolkit.Call
	mu    sync.Mutex
	done  int
	total int
}

func (w *toldOf) started(_ string, plan []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total = len(plan)
}

func (w *toldOf) asking(provider, query string) {
	w.tell(fmt.Sprintf("asking %s for %q", provider, query), 0)
}

func (w *toldOf) received(attempt) {}

func (w *toldOf) finished(a attempt) {
	switch {
	case a.skipped:
		w.tell(a.provider+" was "+a.outcome.Detail, 0)
	case a.cached == cacheHit || a.cached == cacheStale:
		w.tell("what "+a.provider+" answered before is at hand", 1)
	case a.outcome.Code.HasResults():
		w.tell(fmt.Sprintf("%s sent %d results", a.provider, len(a.page.Results)), 1)
	case a.outcome.Code.Answered():
		w.tell(a.provider+" found nothing", 1)
	default:
		w.tell(fmt.Sprintf("%s did not answer (%s)", a.provider, a.outcome.Code), 1)
	}
}

func (w *toldOf) tell(words string, done int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done += done
	w.call.Progress(words, float64(w.done), float64(w.total))
}
