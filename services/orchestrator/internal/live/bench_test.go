package live

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
)

// BenchmarkDelta is one delta written and taken by N readers, who wait for
// each: the dearest case, since nothing is joined.
func BenchmarkDelta(b *testing.B) {
	for _, readers := range []int{0, 1, 10, 100} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			r := new(Hub).Open("run", 0)
			all := make([]*Reader, readers)
			for i := range all {
				all[i] = r.Follow(0)
			}
			b.ReportAllocs()
			for i := range b.N {
				r.Write(1+i/4096, "a delta of text ")
				for _, rd := range all {
					if events, err := rd.Next(); len(events) != 1 || err != nil {
						b.Fatal(events, err)
					}
				}
			}
			b.ReportMetric(float64(b.N*max(readers, 1))/b.Elapsed().Seconds(), "deltas/s")
		})
	}
}

// BenchmarkStream is a stream with readers in goroutines of their own, who join
// what they were too slow for.
func BenchmarkStream(b *testing.B) {
	for _, readers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			var h Hub
			r := h.Open("run", 0)
			var wg sync.WaitGroup
			for range readers {
				rd := r.Follow(0)
				wg.Go(func() {
					for {
						if _, err := rd.Next(); errors.Is(err, io.EOF) {
							return
						}
						<-rd.Changed()
					}
				})
			}
			b.ReportAllocs()
			for i := range b.N {
				r.Write(1+i/4096, "a delta of text ")
			}
			h.Close(r)
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deltas/s")
		})
	}
}
