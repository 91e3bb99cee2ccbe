// Command extractbench measures the extractor of the fetcher beside two others,
// and beside parsing alone, on the pages of a corpus, and prints one JSON line a
// figure. GOMAXPROCS is 1: what the garbage collector does counts.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// page is one page of the corpus, in UTF-8.
type page struct {
	url  *url.URL
	html []byte
}

func main() {
	rounds := flag.Int("rounds", 3, "how often every extractor reads all pages; the best round counts")
	dir := flag.String("pages", "", "folder of the corpus (default: ../shared/data/extract/scrapinghub beside the repository)")
	flag.Parse()
	if err := run(*dir, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "extractbench:", err)
		os.Exit(1)
	}
}

func run(dir string, rounds int) error {
	if dir == "" {
		if dir = corpus(); dir == "" {
			fmt.Fprintln(os.Stderr, "extractbench: the corpus ../shared/data/extract/scrapinghub is not here: nothing was measured")
			return nil
		}
	}
	pages, err := load(dir)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(1) // what the collector does counts too
	best := make([]cost, len(extractors))
	for range rounds {
		for i, e := range extractors {
			c, err := measure(e, pages)
			if err != nil {
				return err
			}
			if best[i].cpu == 0 || c.cpu < best[i].cpu {
				best[i] = c
			}
		}
	}
	return report(best, pages)
}

// corpus looks for the pages beside the repository, from here up.
func corpus() string {
	at, err := os.Getwd()
	if err != nil {
		return ""
	}
	for ; ; at = filepath.Dir(at) {
		dir := filepath.Join(at, "..", "shared", "data", "extract", "scrapinghub")
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

func load(dir string) ([]page, error) {
	var truth map[string]struct{ URL string }
	b, err := ungzip(filepath.Join(dir, "ground-truth.json.gz"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &truth); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var pages []page
	for id, v := range truth {
		u, err := url.Parse(v.URL)
		if err != nil {
			return nil, err
		}
		html, err := ungzip(filepath.Join(dir, "html", id+".html.gz"))
		if err != nil {
			return nil, err
		}
		pages = append(pages, page{url: u, html: []byte(strings.ToValidUTF8(string(html), "\ufffd"))})
	}
	if len(pages) == 0 {
		return nil, errors.New(dir + " has no pages")
	}
	return pages, nil
}

func ungzip(name string) ([]byte, error) {
	f, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.ReadAll(z)
}

// cost is what one round of an extractor took.
type cost struct {
	cpu, slowest  time.Duration
	bytes, allocs uint64
	letters       int
}

func measure(e extractor, pages []page) (cost, error) {
	if _, err := e.read(pages[0]); err != nil { // what is built at first use
		return cost{}, fmt.Errorf("%s: %w", e.name, err)
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var c cost
	begin, last := cpuTime(), cpuTime()
	for _, p := range pages {
		n, err := e.read(p)
		if err != nil {
			return c, fmt.Errorf("%s: %s: %w", e.name, p.url, err)
		}
		c.letters += n
		now := cpuTime()
		c.slowest = max(c.slowest, now-last)
		last = now
	}
	c.cpu = last - begin
	runtime.ReadMemStats(&after)
	c.bytes, c.allocs = after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs
	return c, nil
}
