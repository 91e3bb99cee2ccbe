package page_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/enginetest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/generic"
)

// BenchmarkParse reads each captured page as the service does, from the bytes to
// the results, and tells how long the middle one and the slowest of a hundred
// keep a core busy. It counts the time of the thread rather than the clock's, so
// that a busy machine does not pass for a slow parser.
func BenchmarkParse(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, c := range adaptertest.Corpus(b) {
		if c.Status != 200 {
			continue // the same page again
		}
		parse := generic.Parse
		if engine, ok := catalog.New(c.Provider, catalog.Settings{}); ok {
			parse = engine.Parse
		}
		r := adapter.Response{Status: c.Status, Body: c.Body}
		b.Run(c.File, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			b.SetBytes(int64(len(c.Body)))
			var took []float64
			for b.Loop() {
				start := enginetest.ThreadMicros(b)
				parse(r)
				took = append(took, enginetest.ThreadMicros(b)-start)
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2], "p50_us")
			b.ReportMetric(took[len(took)*99/100], "p99_us")
		})
	}
}
