package search

import (
	"runtime"
	"testing"
	"time"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/search/internal/enginetest"
)

// BenchmarkSearchFromCache tells how long an answer takes that is kept: by the
// clock, and for how long it keeps a core busy, which is what it takes on a
// machine that has nothing else to do.
func BenchmarkSearchFromCache(b *testing.B) {
	s, w, end := startInMemory(b, nil)
	defer end()
	w.set("bing", says(200, tenRows()))
	ctx := auth.NewContext(b.Context(), auth.UserPrincipal("ann", "search"))
	req := &searchv1.SearchRequest{Query: "tea guide"}
	if _, err := s.Search(ctx, req); err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var took, busy []float64
	for b.Loop() {
		start, before := time.Now(), enginetest.ThreadMicros(b)
		got, err := s.Search(ctx, req)
		if err != nil || got.Attempts[0].Cache != cacheHit {
			b.Fatalf("%v (%v)", got, err)
		}
		took, busy = append(took, micros(start)), append(busy, enginetest.ThreadMicros(b)-before)
	}
	b.ReportMetric(percentile(took, 50), "hit_p50_us")
	b.ReportMetric(percentile(took, 99), "hit_p99_us")
	b.ReportMetric(percentile(busy, 99), "hit_busy_p99_us")
}
