package gcpace

import (
	"context"
	"math"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestABusyHeapGetsRoomUpToTheSpare(t *testing.T) {
	for _, c := range []struct {
		name string
		live uint64
		want int
	}{
		{"nothing was collected yet", 0, 100},
		{"a small heap grows to five times its size", 10 << 20, 400},
		{"the largest that does", 32 << 20, 400},
		{"beyond, the room is what the runtime gives and the spare", 96 << 20, 200},
		{"a large heap has hardly more than without", 9600 << 20, 101},
		{"a heap beyond all machines does not overflow", math.MaxInt64 / 400, 100},
	} {
		if got := pace(c.live); got != c.want {
			t.Errorf("%s: GOGC=%d, want %d", c.name, got, c.want)
		}
	}
}

func TestThePaceFollowsWhatGoesOn(t *testing.T) {
	p := pacer{percent: idlePercent}
	now := time.Unix(1_700_000_000, 0)
	for _, step := range []struct {
		name    string
		after   time.Duration
		seen    heap
		percent int
		changed bool
	}{
		{"collections before the first look are no work", 0, heap{10 << 20, 7}, 100, false},
		{"an idle process is left alone", time.Second, heap{10 << 20, 7}, 100, false},
		{"a collection says that it is busy", time.Second, heap{10 << 20, 8}, 400, true},
		{"it stays so for a while", 4 * time.Second, heap{10 << 20, 8}, 400, false},
		{"a heap that grows gets less", time.Second / 2, heap{96 << 20, 9}, 200, true},
		{"a small change is not worth the stop", time.Second, heap{100 << 20, 10}, 200, false},
		{"calm for long enough is idle again", 5 * time.Second, heap{100 << 20, 10}, 100, true},
		{"and said once", time.Second, heap{100 << 20, 10}, 100, false},
	} {
		now = now.Add(step.after)
		if percent, changed := p.look(now, step.seen); percent != step.percent || changed != step.changed {
			t.Errorf("%s: GOGC=%d changed=%v, want %d %v", step.name, percent, changed, step.percent, step.changed)
		}
	}
}

func TestThePaceOfTheEnvironmentIsLeftAlone(t *testing.T) {
	t.Setenv("GOGC", "250")
	before := debug.SetGCPercent(250)
	defer debug.SetGCPercent(before)
	Run(t.Context()) // returns at once
	if got := debug.SetGCPercent(250); got != 250 {
		t.Errorf("GOGC=%d afterwards, want 250", got)
	}
}

func TestAProcessThatEndsPutsThePaceBack(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(300)
	defer debug.SetGCPercent(before)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		Run(ctx)
	})
	if got := debug.SetGCPercent(before); got != idlePercent {
		t.Errorf("GOGC=%d afterwards, want %d", got, idlePercent)
	}
}
