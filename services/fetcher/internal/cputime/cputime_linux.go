// Package cputime tells how much CPU time a thread has taken.
package cputime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Thread is the CPU time of the calling thread so far. Differences mean
// something only while the caller has locked it (runtime.LockOSThread).
func Thread() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
