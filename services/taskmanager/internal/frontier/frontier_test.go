package frontier_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

func TestABatchIsOfOneTaskAndOneHostAndInOrder(t *testing.T) {
	w := newWorld(t)
	a := w.create("ann", "a.example", 50)
	l := w.lease(a, "a.example", 32)
	if len(l.Targets) != 32 || l.Grant.Parallel != 3 || l.Grant.Gap != 0 || l.Task.Status != schema.StatusRunning {
		t.Fatalf("%d targets, %+v, %s", len(l.Targets), l.Grant, l.Task.Status)
	}
	for i, target := range l.Targets {
		if target.Ordinal != i {
			t.Errorf("target %d is address %d", i, target.Ordinal)
		}
	}
	w.noLease(a, "a.example")
	w.noLease(w.create("bob", "a.example", 3), "a.example") // a host has one lease at a time
	if got := w.task(a); got.StartedAt != w.now.Load() || got.LastSeq != 2 {
		t.Errorf("%+v", got)
	}
}

func TestWhatRobotsDidNotDecideIsNotHandedOut(t *testing.T) {
	w := newWorld(t)
	a := w.createOnly("ann", "a.example", 3)
	w.noLease(a, "a.example")
	w.allow(a.ID)
	w.lease(a, "a.example", 32)
}

func TestAVerdictEnds(t *testing.T) {
	w := newWorld(t)
	a := w.create("ann", "a.example", 3)
	w.pass(24*time.Hour + time.Millisecond)
	w.noLease(a, "a.example")
}

func TestATaskWithoutItsLastAddressEndsInTheSameCommit(t *testing.T) {
	w := newWorld(t)
	a := w.create("ann", "a.example", 5)
	l := w.lease(a, "a.example", 32)
	w.commit(part(l, 1, false, came, l.Targets[:2]...))
	w.commit(part(l, 2, false, missing, l.Targets[2]))
	c := w.commit(part(l, 3, true, came, l.Targets[3:]...))
	if c.Recorded != 2 || !c.Task.Ended() {
		t.Errorf("%+v", c)
	}
	got := w.task(a)
	if got.Status != schema.StatusCompleted || got.Outcome != schema.OutcomePartial || got.Succeeded != 4 || got.Failed != 1 || got.CompletedAt == 0 {
		t.Errorf("%+v", got)
	}
	if rows := w.results(a); len(rows) != 5 || rows[2].Reason != host.ReasonHTTP || rows[2].StatusCode != 404 || rows[0].Attempts != 1 {
		t.Errorf("%+v", rows)
	}
}

func TestAPartThatComesAgainIsAnsweredAsThen(t *testing.T) {
	w := newWorld(t)
	a := w.create("ann", "a.example", 5)
	l := w.lease(a, "a.example", 32)
	parts := []frontier.Part{part(l, 1, false, came, l.Targets[:2]...), part(l, 2, false, came), part(l, 3, true, came, l.Targets[2:]...)}
	for i, p := range parts {
		first := w.commit(p)
		before := w.dump()
		for range 2 {
			if again := w.commit(p); again.Recorded != first.Recorded || again.Changed {
				t.Errorf("part %d: %d, then %d", i+1, first.Recorded, again.Recorded)
			}
		}
		if w.dump() != before {
			t.Errorf("part %d changed something again", i+1)
		}
	}
	if got := w.commit(parts[0]); got.Recorded != 2 {
		t.Errorf("an old part after the last: %d", got.Recorded)
	}
}

func TestPartsComeOneAfterAnother(t *testing.T) {
	w := newWorld(t)
	l := w.lease(w.create("ann", "a.example", 3), "a.example", 32)
	_, err := w.Commit(t.Context(), part(l, 2, true, came, l.Targets...))
	if e, ok := errors.AsType[*frontier.PartError](err); !ok || e.Want != 1 {
		t.Errorf("%v", err)
	}
}

func TestOnlyAddressesOfTheLeaseAreTaken(t *testing.T) {
	w := newWorld(t)
	a := w.create("ann", "a.example", 5)
	l := w.lease(a, "a.example", 2)
	other := w.lease(w.create("ann", "b.example", 2), "b.example", 2)
	before := w.dump()
	for name, p := range map[string]frontier.Part{
		"of another lease":    part(l, 1, true, came, other.Targets[0]),
		"twice":               part(l, 1, true, came, l.Targets[0], l.Targets[0]),
		"of nothing":          part(l, 1, true, came, schema.Address{URLKey: make([]byte, 16)}),
		"of the task, unheld": part(l, 1, true, came, schema.Address{URLKey: slices.Concat(l.Targets[1].URLKey[:15], []byte{l.Targets[1].URLKey[15] ^ 1})}),
	} {
		if _, err := w.Commit(t.Context(), p); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	p := part(l, 1, true, came, l.Targets[0])
	p.Pages[0].ContentKey, p.Pages[0].ContentSHA256 = "crawl/task_other/x", "x"
	if _, err := w.Commit(t.Context(), p); err == nil {
		t.Error("a blob of another task is taken")
	}
	if w.dump() != before {
		t.Error("something changed")
	}
}

func TestALeaseThatEndedChangesNothing(t *testing.T) {
	for name, end := range map[string]func(w *world, l frontier.Leased){
		"its time is over": func(w *world, _ frontier.Leased) { w.pass(frontier.LeaseTime + time.Millisecond) },
		"it was freed": func(w *world, _ frontier.Leased) {
			w.pass(frontier.LeaseTime + time.Millisecond)
			_, _ = w.Expire(t.Context())
		},
		"the process began anew":  func(w *world, _ frontier.Leased) { _, _ = w.FreeAll(t.Context()) },
		"it was committed wholly": func(w *world, l frontier.Leased) { w.commit(part(l, 2, true, came)) },
		"somebody else has the host": func(w *world, l frontier.Leased) {
			w.pass(frontier.LeaseTime + time.Millisecond)
			if next := w.lease(l.Task, "a.example", 32); len(next.Targets) != 4 || next.Targets[0].Attempts != 0 {
				t.Errorf("the next has %d", len(next.Targets))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l := w.lease(w.create("ann", "a.example", 5), "a.example", 32)
			w.commit(part(l, 1, false, came, l.Targets[0]))
			end(w, l)
			before := w.dump()
			for _, n := range []int{2, 3} {
				_, err := w.Commit(t.Context(), part(l, n, true, came, l.Targets[1:3]...))
				if n == 2 && name == "it was committed wholly" {
					continue // answered as then
				}
				if !errors.Is(err, frontier.ErrLost) {
					t.Errorf("part %d: %v", n, err)
				}
			}
			if w.dump() != before {
				t.Error("something changed")
			}
		})
	}
	w := newWorld(t)
	if _, err := w.Commit(t.Context(), frontier.Part{LeaseID: "lease_none", Part: 1}); !errors.Is(err, frontier.ErrLost) {
		t.Errorf("a lease that never was: %v", err)
	}
}

func TestWhatNoPartNamedIsOpenAgain(t *testing.T) {
	w := newWorld(t)
	a := w.create("ann", "a.example", 5)
	l := w.lease(a, "a.example", 32)
	w.commit(part(l, 1, true, came, l.Targets[1], l.Targets[3]))
	if next := w.lease(a, "a.example", 32); len(next.Targets) != 3 || next.Targets[0].Attempts != 0 {
		t.Errorf("%+v", next.Targets)
	}
}

func TestACancelledTaskTakesNothingMore(t *testing.T) {
	w := newWorld(t)
	a := w.create("ann", "a.example", 5)
	l := w.lease(a, "a.example", 32)
	w.commit(part(l, 1, false, came, l.Targets[0]))
	got, err := w.tasks.Cancel(t.Context(), "ann", a.ID)
	if err != nil || got.Status != schema.StatusCancelled || got.Succeeded != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	before := w.dump()
	if c := w.commit(part(l, 2, true, came, l.Targets[1:]...)); !c.Cancelled || c.Recorded != 0 {
		t.Errorf("%+v", c)
	}
	e, err := w.Extend(t.Context(), "w1", []string{l.Lease.ID})
	if err != nil || len(e.Cancelled) != 1 || len(e.Lost) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if again, err := w.tasks.Cancel(t.Context(), "ann", a.ID); err != nil || again.LastSeq != got.LastSeq {
		t.Errorf("%+v, %v", again, err)
	}
	if w.dump() != before {
		t.Error("something changed")
	}
	w.noLease(a, "a.example")
	b := w.create("bob", "a.example", 1)
	w.noLease(b, "a.example") // whoever was at the host may still be
	w.pass(2 * time.Second)
	w.lease(b, "a.example", 32)
}

func TestLeasesAreExtendedWhenHalfTheirTimeIsOver(t *testing.T) {
	w := newWorld(t)
	a := w.lease(w.create("ann", "a.example", 5), "a.example", 32)
	b := w.lease(w.create("ann", "b.example", 5), "b.example", 32)
	ids := []string{a.Lease.ID, b.Lease.ID, "lease_none"}
	w.pass(5 * time.Second)
	before := w.dump()
	e, err := w.Extend(t.Context(), "w1", ids)
	if err != nil || e.Until != a.Lease.LeaseUntil || !slices.Equal(e.Lost, ids[2:]) || w.dump() != before {
		t.Errorf("too early: %+v, %v", e, err)
	}
	w.pass(3 * time.Second)
	if e, err = w.Extend(t.Context(), "w2", ids); err != nil || len(e.Lost) != 3 {
		t.Errorf("another worker: %+v, %v", e, err)
	}
	if e, err = w.Extend(t.Context(), "w1", ids); err != nil || e.Until != w.now.Load()+15_000 || len(e.Hosts) != 2 {
		t.Errorf("%+v, %v", e, err)
	}
	w.pass(14 * time.Second)
	w.commit(part(a, 1, true, came, a.Targets...))
	w.pass(2 * time.Second)
	if e, err = w.Extend(t.Context(), "w1", ids); err != nil || len(e.Lost) != 3 || e.Until != 0 {
		t.Errorf("after their time: %+v, %v", e, err)
	}
	if e, err = w.Extend(t.Context(), "w1", nil); err != nil || e.Until != 0 {
		t.Errorf("nothing: %+v, %v", e, err)
	}
}

func TestATaskNeverHasMoreRequestsThanItMay(t *testing.T) {
	w := newWorld(t)
	a := w.createAt("ann", []string{"a.example", "b.example", "c.example"}, 2)
	w.allow(a.ID)
	first := w.lease(a, "a.example", 32)
	second := w.lease(a, "b.example", 32)
	if first.Grant.Parallel != 2 || second.Grant.Parallel != 1 { // no more than it has addresses, and than are left
		t.Errorf("%d and %d", first.Grant.Parallel, second.Grant.Parallel)
	}
	w.noLease(a, "c.example")
	w.commit(part(second, 1, true, came, second.Targets...))
	if third := w.lease(a, "c.example", 32); third.Grant.Parallel != 1 {
		t.Errorf("then %d", third.Grant.Parallel)
	}
	w.pass(frontier.LeaseTime + time.Millisecond)
	w.lease(a, "a.example", 32) // what has ended does not count
}

func TestOnlySoManyTasksOfAUserRun(t *testing.T) {
	w := newWorld(t)
	hosts := []string{"a.example", "b.example", "c.example", "d.example", "e.example"}
	var tasks []schema.Task
	for _, h := range hosts {
		tasks = append(tasks, w.create("ann", h, 1))
	}
	var first frontier.Leased
	for i, h := range hosts[:4] {
		if l := w.lease(tasks[i], h, 32); i == 0 {
			first = l
		}
	}
	w.noLease(tasks[4], "e.example")
	w.lease(w.create("bob", "f.example", 1), "f.example", 32)
	w.commit(part(first, 1, true, came, first.Targets...))
	w.lease(tasks[4], "e.example", 32)
}

func TestAnAddressThatKillsWorkersIsHandedOutAloneAndThenGivenUp(t *testing.T) {
	w := newWorld(t)
	a := w.create("ann", "a.example", 3)
	sizes := map[int]int{}
	for range 100 {
		l, err := w.Lease(t.Context(), want(a, "a.example", 32))
		if errors.Is(err, frontier.ErrNotNow) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sizes[len(l.Targets)]++
		w.pass(frontier.LeaseTime + time.Second)
		if _, err := w.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := w.task(a)
	if got.Status != schema.StatusCompleted || got.Failed != 3 || sizes[3] != 3 || sizes[1] != 21 {
		t.Errorf("%s, %d failed, batches by size %v", got.Status, got.Failed, sizes)
	}
	for _, r := range w.results(a) {
		if r.Reason != frontier.ReasonWorkerLost {
			t.Errorf("%+v", r)
		}
	}
}

func TestFreeAllEndsEveryLeaseAtOnce(t *testing.T) {
	w := newWorld(t)
	a, b := w.create("ann", "a.example", 3), w.create("ann", "b.example", 3)
	w.lease(a, "a.example", 32)
	w.lease(b, "b.example", 32)
	if n, err := w.FreeAll(t.Context()); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if l := w.lease(a, "a.example", 32); len(l.Targets) != 3 || l.Targets[0].Losses != 0 {
		t.Errorf("%+v", l.Targets)
	}
}
