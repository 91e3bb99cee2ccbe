package rpc

import (
	"context"
	"math"
	"runtime/metrics"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// ReasonMemory: the process is short of memory and begins nothing new.
const ReasonMemory = "MEMORY_PRESSURE"

const (
	memoryRefuseAbove = 0.9 // share of the limit
	memorySampleEvery = 100 * time.Millisecond
	memoryRetry       = time.Second
)

// memoryGuard refuses calls while memory is nearly used up, so that those under
// way can finish instead of all dying together.
type memoryGuard struct {
	usage func() (used, limit uint64)

	mu      sync.Mutex
	sampled time.Time
	short   bool
}

func (g *memoryGuard) step(ctx context.Context, _ method) (context.Context, func(error) error, error) {
	if g.isShort() {
		return nil, nil, rpcerr.New(codes.ResourceExhausted, ReasonMemory,
			"the server is short of memory; try again shortly").WithRetry(memoryRetry)
	}
	return ctx, nil, nil
}

func (g *memoryGuard) isShort() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.Sub(g.sampled) >= memorySampleEvery {
		used, limit := g.usage()
		g.sampled = now
		g.short = limit > 0 && float64(used) > memoryRefuseAbove*float64(limit)
	}
	return g.short
}

// runtimeMemory is what the process cannot give back now, against GOMEMLIMIT:
// the heap that the last collection found alive, and all that is not heap.
// Garbage must not count: with a limit set the heap is let grow up to it before
// each collection, and a guard on the plain total would refuse calls for it.
// Near the limit collections come often, so the live heap is never old.
func runtimeMemory() (used, limit uint64) {
	samples := []metrics.Sample{
		{Name: "/gc/gomemlimit:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	value := func(i int) uint64 { return samples[i].Value.Uint64() }
	limit = value(0)
	if limit == math.MaxInt64 {
		limit = 0
	}
	heap := value(3) + value(4) + value(5) + value(6)
	return value(1) + max(value(2), heap) - heap, limit
}
