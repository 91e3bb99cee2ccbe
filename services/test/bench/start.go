package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/pause"
)

// noModel is the address of a model that nobody asks.
const noModel = "http://127.0.0.1:1/v1"

// settled is how long an idle process is left alone before it is measured.
const settled = time.Second

// start measures the binary, how soon it is ready, on an empty data folder and
// on one that was used, and what it holds when nobody calls.
func (b *bench) start(ctx context.Context) error {
	info, err := os.Stat(b.binary)
	if err != nil {
		return err
	}
	var first, again []time.Duration
	var idle usage
	var goroutines int
	for range b.plan.starts {
		dir, err := os.MkdirTemp(b.dir, "start-")
		if err != nil {
			return err
		}
		for _, times := range []*[]time.Duration{&first, &again} {
			began := time.Now()
			s, err := b.serveIn(ctx, dir, noModel)
			if err != nil {
				return err
			}
			*times = append(*times, time.Since(began))
			if idle, goroutines, err = s.idle(ctx); err != nil {
				s.stop()
				return err
			}
			s.stop()
		}
	}
	return printAll(
		figure{Bench: "binary", Metric: filepath.Base(b.binary), Value: float64(info.Size()) / mebibyte, Unit: "MiB"},
		figure{Bench: "start", Metric: "ready on an empty data folder", Value: milliseconds(median(first)), Unit: "ms"},
		figure{Bench: "start", Metric: "ready again", Value: milliseconds(median(again)), Unit: "ms"},
		figure{Bench: "idle", Metric: "rss", Value: float64(idle.rss) / mebibyte, Unit: "MiB"},
		figure{Bench: "idle", Metric: "goroutines", Value: float64(goroutines), Unit: "goroutines"},
	)
}

// idle measures a server that nobody called.
func (s *server) idle(ctx context.Context) (u usage, goroutines int, err error) {
	if err := pause.For(ctx, settled); err != nil {
		return u, 0, err
	}
	if u, err = s.usage(); err != nil {
		return u, 0, err
	}
	goroutines, err = s.goroutines(ctx)
	return u, goroutines, err
}
