//go:build !linux

package fetcher

import "time"

var processStart = time.Now()

// threadCPU stands in with wall time where the system does not count threads.
func threadCPU() time.Duration { return time.Since(processStart) }
