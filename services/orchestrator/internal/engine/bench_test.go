package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// BenchmarkDurableToolRound is one round of a run: the model call written
// ahead, its answer with one planned call stored, the call marked, made over
// gRPC and its result stored; four commits. The model and the tool do nothing.
func BenchmarkDurableToolRound(b *testing.B) {
	for _, sync := range []store.Synchronous{store.SyncNormal, store.SyncFull} {
		b.Run(string(sync), func(b *testing.B) {
			const rounds = 20
			w := newWorldOn(b, sync, echo)
			w.cfg.MaxIterations = rounds
			var took []time.Duration
			last := time.Now()
			for i := range rounds {
				next := call(fmt.Sprintf(`echo {"n":%d}`, i))
				w.script = append(w.script, func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
					if i > 0 {
						took = append(took, time.Since(last))
					}
					last = time.Now()
					return next(ctx, req, yield)
				})
			}
			w.script = append(w.script, say("Done."))
			e := w.engine("a")
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += rounds {
				e.finish()
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
