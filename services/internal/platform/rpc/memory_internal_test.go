package rpc

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestRuntimeMemoryCountsWhatLivesAndNotGarbage(t *testing.T) {
	const block = 256 << 20 // never touched, so it costs no real memory
	old := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(old)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // collections only when asked for

	debug.SetMemoryLimit(1 << 30)
	for range 3 { // pools of other tests give up after two
		runtime.GC()
	}
	before, limit := runtimeMemory()
	if limit != 1<<30 {
		t.Errorf("limit = %d, want 1 GiB", limit)
	}
	alive := make([]byte, block)
	runtime.GC()
	with, _ := runtimeMemory()
	if grown := int64(with) - int64(before); grown < block*9/10 || grown > block*3/2 {
		t.Errorf("256 MiB kept alive count as %d MiB", grown>>20)
	}
	runtime.KeepAlive(alive)
	alive = nil
	runtime.GC()
	litter(block)
	after, _ := runtimeMemory()
	if grown := int64(after) - int64(before); grown > block/2 {
		t.Errorf("garbage counts as %d MiB", grown>>20)
	}

	debug.SetMemoryLimit(old)
	if _, limit := runtimeMemory(); old == 1<<63-1 && limit != 0 {
		t.Errorf("limit = %d, want none", limit)
	}
}

// litter leaves garbage that is not collected yet.
//
//go:noinline
func litter(size int) { runtime.KeepAlive(make([]byte, size)) }
