package store

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uptrace/bun"
)

// BenchmarkWrite compares one caller with 64 at a time: the gain of sharing
// commits. One row of 1 KiB a write.
func BenchmarkWrite(b *testing.B) {
	text := strings.Repeat("x", 1000)
	for _, sync := range []Synchronous{SyncNormal, SyncFull} {
		for name, callers := range map[string]int{"1": 1, "64": 64} {
			b.Run(string(sync)+"/callers="+name, func(b *testing.B) { benchWrite(b, sync, callers, text) })
		}
	}
}

func benchWrite(b *testing.B, synchronous Synchronous, callers int, text string) {
	cfg := testConfig(b)
	cfg.Synchronous = synchronous
	cfg.Migrations = migrations("CREATE TABLE blobs (id INTEGER PRIMARY KEY, text VARCHAR(2000) NOT NULL);")
	db := open(b, cfg)
	var next atomic.Int64
	var calls sync.WaitGroup
	b.ResetTimer()
	for range callers {
		calls.Go(func() {
			for {
				id := next.Add(1)
				if id > int64(b.N) {
					return
				}
				err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
					_, err := tx.ExecContext(ctx, "INSERT INTO blobs (id, text) VALUES (?, ?)", id, text)
					return err
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	calls.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	b.ReportMetric(float64(b.N)/float64(group(db).commits.Load()), "writes/commit")
}
