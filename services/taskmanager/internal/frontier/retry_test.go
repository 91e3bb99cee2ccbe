package frontier_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

func TestAnAddressIsTriedAgainLaterAndLater(t *testing.T) {
	w := newWorld(t)
	a := w.create("ann", "a.example", 1)
	for i, wait := range []time.Duration{time.Second, 4 * time.Second} {
		l := w.lease(a, "a.example", 32)
		if l.Targets[0].Attempts != i {
			t.Errorf("attempt %d has %d before", i, l.Targets[0].Attempts)
		}
		if c := w.commit(part(l, 1, true, refused, l.Targets...)); c.Recorded != 0 || len(c.Again) != 1 {
			t.Errorf("%+v", c)
		}
		w.pass(wait - time.Millisecond)
		w.noLease(a, "a.example")
		w.pass(time.Millisecond)
	}
	l := w.lease(a, "a.example", 32)
	w.commit(part(l, 1, true, refused, l.Targets...))
	if rows := w.results(a); len(rows) != 1 || rows[0].Attempts != 3 || rows[0].Reason != "CONNECT_FAILED" {
		t.Errorf("%+v", rows)
	}
}

func TestAHostThatAsksToBeLeftAloneUsesNoAttempts(t *testing.T) {
	w := newWorld(t)
	a := w.create("ann", "a.example", 2)
	for range host.MaxBlocks {
		l := w.lease(a, "a.example", 32)
		w.commit(part(l, 1, true, throttle, l.Targets[0]))
		w.noLease(a, "a.example")
		w.pass(10 * time.Minute)
	}
	l := w.lease(a, "a.example", 32)
	if len(l.Targets) != 1 || l.Targets[0].Attempts != 0 || l.Targets[0].Blocks != host.MaxBlocks {
		t.Fatalf("%+v", l.Targets)
	}
	w.commit(part(l, 1, true, throttle, l.Targets...))
	got := w.task(a)
	if got.Status != schema.StatusCompleted || got.Outcome != schema.OutcomeEmpty || got.Failed != 2 {
		t.Errorf("%+v", got)
	}
	for _, r := range w.results(a) {
		if r.Reason != host.ReasonRateLimited {
			t.Errorf("%+v", r)
		}
	}
}

func TestADeadHostIsGivenUpForTheTask(t *testing.T) {
	w := newWorld(t)
	a := w.create("ann", "a.example", 40)
	leases := 0
	for ; !func() bool { got := w.task(a); return got.Ended() }(); leases++ {
		l, err := w.Lease(t.Context(), want(a, "a.example", 8))
		if errors.Is(err, frontier.ErrNotNow) {
			w.pass(5 * time.Second)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		w.commit(part(l, 1, true, refused, l.Targets...))
	}
	unavailable := 0
	for _, r := range w.results(a) {
		if r.Reason == host.ReasonUnavailable {
			unavailable++
		}
	}
	if unavailable < 20 {
		t.Errorf("%d were given up with the host", unavailable)
	}
}
