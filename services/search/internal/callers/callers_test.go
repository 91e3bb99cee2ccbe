package callers

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestElevenCallsInAMinuteAreOneTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(10)
		for i := range 10 {
			if _, ok := l.Allow("ann"); !ok {
				t.Fatalf("call %d was refused", i+1)
			}
			time.Sleep(time.Second)
		}
		wait, ok := l.Allow("ann")
		if ok || wait != 50*time.Second {
			t.Fatalf("eleventh call: allowed %t, wait %s, want a wait of 50s", ok, wait)
		}
		if _, ok := l.Allow("bob"); !ok {
			t.Fatal("another caller was refused")
		}
		time.Sleep(wait)
		if _, ok := l.Allow("ann"); !ok {
			t.Fatal("refused after the wait that was named")
		}
		if wait, ok := l.Allow("ann"); ok || wait != time.Second {
			t.Fatalf("the window does not slide: allowed %t, wait %s", ok, wait)
		}
	})
}

func TestNoLimit(t *testing.T) {
	l := New(0)
	for range 1000 {
		if _, ok := l.Allow("ann"); !ok {
			t.Fatal("refused")
		}
	}
}

func TestIdleCallersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(10)
		for i := range 20 * sweepAt {
			l.Allow(fmt.Sprint(i))
			if i%sweepAt == 0 {
				time.Sleep(window)
			}
		}
		if n := len(l.calls); n > 2*sweepAt {
			t.Errorf("%d callers are remembered", n)
		}
	})
}
