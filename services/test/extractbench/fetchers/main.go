// Command fetchers gets the addresses of a file, some at the same time, in one of
// several ways, and prints as one line of JSON what that took: {"pages",
// "letters", "elapsed", "cpu"}, times in nanoseconds. The benchmark of the suite
// (services/test/bench) starts it, a way a process, and compares.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// job is what to get.
type job struct {
	urls     []string
	parallel int
	// letters counts what was read, so that nobody reads nothing.
	letters atomic.Int64
}

// ways get all pages of a job and read them; a page that does not come is an
// error.
var ways = map[string]func(context.Context, *job) error{
	"views": views, // as a fetch does, with the views of a page
	"colly": byColly,
	"bare":  bare, // net/http and the extractor, and nothing else of the suite
}

type spent struct {
	Pages   int           `json:"pages"`
	Letters int64         `json:"letters"`
	Elapsed time.Duration `json:"elapsed"`
	CPU     time.Duration `json:"cpu"`
}

func main() {
	way := flag.String("way", "", "views, colly or bare")
	file := flag.String("urls", "", "file with an address a line")
	parallel := flag.Int("parallel", 1, "how many at the same time")
	flag.Parse()
	got, err := run(*way, *file, *parallel)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(got)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetchers:", err)
		os.Exit(1)
	}
}

func run(way, file string, parallel int) (spent, error) {
	get := ways[way]
	if get == nil {
		return spent{}, fmt.Errorf("way %q: want views, colly or bare", way)
	}
	urls, err := lines(file)
	if err != nil {
		return spent{}, err
	}
	j := &job{urls: urls, parallel: parallel}
	began, cpu := time.Now(), ownCPU()
	if err := get(context.Background(), j); err != nil {
		return spent{}, fmt.Errorf("%s: %w", way, err)
	}
	got := spent{len(urls), j.letters.Load(), time.Since(began), ownCPU() - cpu}
	if got.Letters == 0 {
		return got, fmt.Errorf("%s found no text at all", way)
	}
	return got, nil
}

func lines(file string) (out []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		out = append(out, strings.TrimSpace(s.Text()))
	}
	return out, s.Err()
}

// each gives every address to one of the job's loops. The first error ends the
// loop that met it, and is returned.
func (j *job) each(get func(url string) (letters int, err error)) error {
	var next atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, j.parallel)
	for range j.parallel {
		all.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(j.urls); i = next.Add(1) - 1 {
				n, err := get(j.urls[i])
				if err != nil {
					failed <- fmt.Errorf("%s: %w", j.urls[i], err)
					return
				}
				j.letters.Add(int64(n))
			}
		})
	}
	all.Wait()
	close(failed)
	return <-failed // nil when there is none
}

// ownCPU is the CPU time of this process so far.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
