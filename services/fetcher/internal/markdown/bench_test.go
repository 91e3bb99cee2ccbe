package markdown

import (
	"compress/gzip"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// BenchmarkWrite writes the whole of real pages, beside parsing the same pages
// in the same run.
func BenchmarkWrite(b *testing.B) {
	pages := corpusPages(b)
	var bytes int64
	trees := make([]*html.Node, len(pages))
	for i, p := range pages {
		doc, err := html.ParseWithOptions(strings.NewReader(p), html.ParseOptionEnableScripting(false))
		if err != nil {
			b.Fatal(err)
		}
		trees[i] = doc
		bytes += int64(len(p))
	}
	base, err := url.Parse("https://example.com/news/page.html")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(bytes)
		for b.Loop() {
			for _, doc := range trees {
				var out strings.Builder
				Write(&out, doc, Options{Base: base})
			}
		}
		b.ReportMetric(float64(len(pages)*b.N)/b.Elapsed().Seconds(), "pages/s")
	})
	b.Run("tables", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(bytes)
		for b.Loop() {
			for _, doc := range trees {
				Tables(doc, Options{Base: base})
			}
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(bytes)
		for b.Loop() {
			for _, p := range pages {
				if _, err := html.ParseWithOptions(strings.NewReader(p), html.ParseOptionEnableScripting(false)); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(len(pages)*b.N)/b.Elapsed().Seconds(), "pages/s")
	})
}

// corpusPages are real pages of the shared corpus.
func corpusPages(b *testing.B) []string {
	b.Helper()
	dir, err := os.Getwd()
	if err != nil {
		b.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		files, err := filepath.Glob(filepath.Join(dir, "..", "shared", "data", "extract", "scrapinghub", "html", "*.gz"))
		if err != nil {
			b.Fatal(err)
		}
		if len(files) == 0 {
			if dir == filepath.Dir(dir) {
				b.Skip("the corpus ../shared/data/extract/scrapinghub is not here")
			}
			continue
		}
		var pages []string
		for _, name := range files {
			pages = append(pages, unzipped(b, name))
		}
		return pages
	}
}

func unzipped(b *testing.B, name string) string {
	b.Helper()
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	page, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	return string(page)
}
