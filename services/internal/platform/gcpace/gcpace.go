// Package gcpace lets a process that is busy collect its garbage less often, for
// a bounded amount of memory.
//
// The Go runtime collects when the heap has doubled (GOGC=100). A server whose
// heap is small, and which parses page after page, then spends a fifth of its CPU
// time collecting. While it does, the heap may grow to five times of what is
// alive, but by no more than [Spare] beyond what the runtime would let it. A
// process that is idle is left as it is, and so is one whose environment sets
// GOGC. GOMEMLIMIT holds as ever.
package gcpace

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// Spare is how much garbage may lie about that GOGC=100 would have
	// collected, in bytes.
	Spare = 96 << 20
	// busyPercent and idlePercent are GOGC at most and at least.
	busyPercent = 400
	idlePercent = 100

	lookEvery = time.Second
	// calmFor is how long nothing was collected when a process counts as idle.
	calmFor = 5 * time.Second
)

// Run sets the pace until ctx ends, and then puts GOGC=100 back. It returns at
// once when the environment sets GOGC: there is but one pace a process.
func Run(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	p := pacer{percent: idlePercent}
	defer debug.SetGCPercent(idlePercent)
	for {
		if percent, changed := p.look(time.Now(), read()); changed {
			debug.SetGCPercent(percent)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// heap is what the runtime says of itself.
type heap struct {
	live   uint64 // bytes that the last collection found alive
	cycles uint64 // collections that the heap's growth has caused so far
}

func read() heap {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/automatic:gc-cycles"}}
	metrics.Read(samples)
	return heap{live: samples[0].Value.Uint64(), cycles: samples[1].Value.Uint64()}
}

// pacer decides by what it sees from time to time.
type pacer struct {
	percent int
	cycles  uint64
	busyAt  time.Time // when there was a new collection last; zero: never
	begun   bool
}

// look answers GOGC as it should be now, and whether that is worth a change,
// which stops the process for an instant.
func (p *pacer) look(now time.Time, h heap) (percent int, changed bool) {
	if p.begun && h.cycles > p.cycles {
		p.busyAt = now
	}
	p.begun, p.cycles = true, h.cycles
	percent = idlePercent
	if !p.busyAt.IsZero() && now.Sub(p.busyAt) < calmFor {
		percent = pace(h.live)
	}
	if d := percent - p.percent; d == 0 || d*d < (p.percent/10)*(p.percent/10) && percent != idlePercent {
		return p.percent, false
	}
	p.percent = percent
	return percent, true
}

// pace is GOGC for a busy heap with so many bytes alive.
func pace(live uint64) int {
	room := min(live*busyPercent/100, live*idlePercent/100+Spare)
	return max(int(room*100/max(live, 1)), idlePercent)
}
