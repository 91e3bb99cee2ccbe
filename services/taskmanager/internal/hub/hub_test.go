package hub

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestWhoWaitsIsToldAndNothingIsKept(t *testing.T) {
	var h Hub
	h.Tell("a") // nobody waits
	first, releaseFirst := h.Moved("a")
	second, releaseSecond := h.Moved("a")
	other, releaseOther := h.Moved("b")
	if h.Tell("a"); !closed(first) || !closed(second) || closed(other) {
		t.Error("told wrongly")
	}
	next, releaseNext := h.Moved("a")
	releaseFirst()
	releaseSecond() // of what has gone: the next one still waits
	if h.Tell("a"); !closed(next) {
		t.Error("who came later is not told")
	}
	releaseNext()
	third, releaseThird := h.Moved("b")
	releaseOther()
	if len(h.waiting) != 1 || closed(third) {
		t.Errorf("%d wait", len(h.waiting))
	}
	if releaseThird(); len(h.waiting) != 0 {
		t.Errorf("%d are kept", len(h.waiting))
	}
}
