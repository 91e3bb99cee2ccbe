package search

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/exchange"
)

// tenRows is a page of ten results.
func tenRows() string {
	var addresses []string
	for _, c := range strings.Split("abcdefghij", "") {
		addresses = append(addresses, "https://"+c+".example/")
	}
	return bingPage("tea guide", addresses...)
}

// BenchmarkSearchOverAdapter asks the same engine through the service and through
// its adapter alone, by turns, and tells what the service adds to the middle
// call.
func BenchmarkSearchOverAdapter(b *testing.B) {
	s, w, end := startInMemory(b, nil)
	defer end()
	w.set("bing", says(200, tenRows()))
	ctx := auth.NewContext(b.Context(), auth.UserPrincipal("ann", "search"))
	e := s.engines["bing"]
	req := &searchv1.SearchRequest{Query: "tea guide", Cache: cacheOff}
	var through, alone []float64
	for b.Loop() {
		start := time.Now()
		if _, err := s.Search(ctx, req); err != nil {
			b.Fatal(err)
		}
		through = append(through, micros(start))
		start = time.Now()
		if got := exchange.Ask(ctx, s.client, e.Adapter, adapter.Query{Text: "tea guide", Count: 5}, e.trust); !got.Outcome.Code.HasResults() {
			b.Fatal(got.Outcome)
		}
		alone = append(alone, micros(start))
	}
	b.ReportMetric(percentile(through, 50)-percentile(alone, 50), "overhead_p50_us")
	b.ReportMetric(percentile(through, 50)/percentile(alone, 50), "over_adapter_p50_ratio")
}

// BenchmarkSearchOfManyCallers lets 64 callers ask the same at once and tells how
// often the engine was asked for it.
func BenchmarkSearchOfManyCallers(b *testing.B) {
	const callers = 64
	s, w, end := startInMemory(b, nil)
	defer end()
	page := tenRows()
	w.set("bing", func(to http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * time.Millisecond) // a quick engine
		says(200, page)(to, r)
	})
	ctx := auth.NewContext(b.Context(), auth.UserPrincipal("ann", "search"))
	rounds := 0
	for b.Loop() {
		rounds++
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				if _, err := s.Search(ctx, &searchv1.SearchRequest{Query: "tea guide", Cache: cacheRefresh}); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(w.times("bing"))/float64(rounds), "upstream_calls")
}

func micros(since time.Time) float64 { return float64(time.Since(since).Nanoseconds()) / 1000 }

func percentile(of []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
