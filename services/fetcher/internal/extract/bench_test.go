package extract

import (
	"net/url"
	"testing"
)

// BenchmarkScrapinghub extracts text and metadata of one page after the other;
// package services/test/extractbench compares with other extractors.
func BenchmarkScrapinghub(b *testing.B) {
	pages := loadScrapinghub(b, corpusDir(b, "scrapinghub"))
	size := 0
	for _, p := range pages {
		size += len(p.raw)
	}
	b.SetBytes(int64(size / len(pages)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := &pages[i%len(pages)]
		u, err := url.Parse(p.url)
		if err != nil {
			b.Fatal(err)
		}
		d := Parse(p.raw, u)
		_, _ = d.Text()
		_ = d.Metadata()
	}
}
