package search

// watcher is told what a search does. Its methods are called from several
// goroutines.
type watcher interface {
	// started tells who will be asked, in order.
	started(mode string, plan []string)
	// asking tells that an engine is being asked.
	asking(provider, query string)
	// received tells that an engine answered.
	received(a attempt)
	// finished tells how an attempt ended, or that it was not made.
	finished(a attempt)
}

// unwatched is for searches that nobody watches.
type unwatched struct{}

func (unwatched) started(string, []string) {}
func (unwatched) asking(string, string)    {}
func (unwatched) received(attempt)         {}
func (unwatched) finished(attempt)         {}
