// Package quota keeps what an engine said about its allowance until it counts
// for nothing any more.
package quota

import (
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// skew is how far the clocks of replicas may differ.
const skew = time.Minute

// Standing is what an engine said last, and when. The zero value says nothing.
type Standing struct {
	Limits adapter.Limits `json:",omitempty"`
	At     time.Time      `json:",omitzero"`
}

// Window is the allowance of one window as it is now.
type Window struct {
	// Name is what is counted; empty for requests.
	Name string
	// Limit is how many calls a window has; 0 when not told.
	Limit int
	// Remaining is how many are left; less than 0 when that is not known, as in
	// a window that has begun since.
	Remaining int
	// Period is how long a window is; 0 when not told.
	Period time.Duration
	// ResetsAt is when this window ends; zero when not told, or past.
	ResetsAt time.Time
}

// Windows are the windows as they are at now.
func (s Standing) Windows(now time.Time) []Window {
	out := make([]Window, 0, len(s.Limits))
	for _, l := range s.Limits {
		w := Window{Name: l.Name, Limit: l.Limit, Remaining: l.Remaining, Period: l.Period}
		if l.ResetAfter > 0 {
			w.ResetsAt = s.At.Add(l.ResetAfter)
		}
		if over(s.At, l, now) {
			w.Remaining, w.ResetsAt = -1, time.Time{}
		}
		out = append(out, w)
	}
	return out
}

// over reports whether the window that was told of has ended. What was told in
// the future counts for nothing: the clock has been set back since.
func over(at time.Time, l adapter.Limit, now time.Time) bool {
	if at.After(now.Add(skew)) {
		return true
	}
	end := l.ResetAfter
	if end == 0 {
		end = l.Period
	}
	return end > 0 && !now.Before(at.Add(end))
}

// UsedUp tells when the engine may be asked again, if a window is used up whose
// end is known, and whether that is an allowance of a day or more rather than a
// pace.
func (s Standing) UsedUp(now time.Time) (until time.Time, bought, used bool) {
	for _, l := range s.Limits {
		end := s.At.Add(l.ResetAfter)
		if l.Remaining != 0 || l.ResetAfter <= 0 || over(s.At, l, now) {
			continue
		}
		if used = true; end.After(until) {
			until = end
		}
		bought = bought || l.Quota()
	}
	return until, bought, used
}
