package enginetest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// ThreadMicros is how long the thread of the caller has run, in microseconds. A
// benchmark that holds its thread (runtime.LockOSThread) measures by it what it
// costs itself, however busy the machine is.
func ThreadMicros(t testing.TB) float64 {
	t.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		t.Fatal(err)
	}
	return float64(at.Nano()) / 1000
}
