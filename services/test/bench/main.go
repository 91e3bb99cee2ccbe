// Command bench measures the suite as it is shipped: the real binary as a
// process, with the model provider and the readers in processes of their own,
// on one machine. What is compared is measured in one run, by turns.
//
//	go run ./services/test/bench -nanoclaw bin/nanoclaw [-smoke]
//
// It prints one JSON line a figure: {"bench","metric","value","unit"}, with
// "ratio_to" where the value is a ratio, or a difference, to something else. CPU
// time is what /proc says of a process and getrusage of this one, so it is for
// Linux alone.
//
// It starts itself again in the roles that roles.go lists.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// plan says how much is measured.
type plan struct {
	starts int
	// unary calls are made for unaryTime, by turns unaryTurns times.
	unaryTime  time.Duration
	unaryTurns int
	// loads of live streams: the first is measured on a fresh process.
	loads []load
	// watchers of one run.
	watchers int
	// crawlTasks of crawlPages each are crawled crawlTurns times.
	crawlTasks, crawlPages, crawlTurns int
	// readTasks of crawlPages each are fetched and read, crawlTurns times.
	readTasks int
}

// load is streams that the provider writes a chunk to every so often.
type load struct {
	streams int
	every   time.Duration
	window  time.Duration
	// saturating is more than the machine carries: what it costs is measured,
	// and how long it takes says nothing.
	saturating bool
}

var (
	// whole takes about four minutes on two cores.
	whole = plan{
		starts: 5, unaryTime: time.Second, unaryTurns: 3,
		loads: []load{
			{streams: 1000, every: 500 * time.Millisecond, window: 6 * time.Second},
			{streams: 100, every: 50 * time.Millisecond, window: 6 * time.Second},
			{streams: 1, every: 10 * time.Millisecond, window: 4 * time.Second},
			{streams: 800, every: 32 * time.Millisecond, window: 5 * time.Second, saturating: true}, // 25,000 chunks a second
		},
		watchers: 1000, crawlTasks: 100, crawlPages: 50, crawlTurns: 3, readTasks: 50,
	}
	// smoke shows that everything still runs.
	smoke = plan{
		starts: 1, unaryTime: 100 * time.Millisecond, unaryTurns: 1,
		loads: []load{
			{streams: 50, every: 50 * time.Millisecond, window: time.Second},
			{streams: 1, every: 10 * time.Millisecond, window: time.Second},
		},
		watchers: 50, crawlTasks: 5, crawlPages: 10, crawlTurns: 1, readTasks: 5,
	}
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		if role, ok := roles[args[0]]; ok {
			return role(ctx, args[1:])
		}
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	binary := flags.String("nanoclaw", "bin/nanoclaw", "the binary to measure")
	short := flags.Bool("smoke", false, "only show that everything runs")
	only := flags.String("only", "", "one of start, unary, streams, viewers, crawl, pages")
	fetchers := flags.String("fetchers", "", "the program of services/test/extractbench/fetchers; without it, pages is left out")
	corpus := flags.String("pages", "", "folder with the pages NAME.html.gz of a corpus, for the stage pages")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "nanoclaw-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{plan: whole, dir: dir, fetchers: *fetchers, corpus: *corpus}
	if *short {
		b.plan = smoke
	}
	if b.binary, err = filepath.Abs(*binary); err != nil {
		return err
	}
	for _, stage := range []struct {
		name    string
		measure func(context.Context) error
	}{
		{"start", b.start}, {"unary", b.unary}, {"streams", b.streams}, {"viewers", b.viewing}, {"crawl", b.crawl},
		{"pages", b.pages},
	} {
		if *only != "" && *only != stage.name {
			continue
		}
		if err := stage.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", stage.name, err)
		}
	}
	return nil
}

// bench measures.
type bench struct {
	plan   plan
	binary string
	dir    string // everything written is in it
	// fetchers is a program that gets pages in other ways, corpus a folder of
	// pages; both may be empty.
	fetchers, corpus string
}
