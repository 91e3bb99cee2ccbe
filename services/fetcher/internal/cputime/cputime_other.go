//go:build !linux

// Package cputime tells how much CPU time a thread has taken.
package cputime

import "time"

var start = time.Now()

// Thread stands in with wall time where the system does not count threads.
func Thread() time.Duration { return time.Since(start) }
