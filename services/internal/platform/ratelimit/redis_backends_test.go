//go:build backends

package ratelimit_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit/ratelimittest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn/redistest"
)

// age moves the turns of every key into the past.
var age = redis.NewScript(`
for i = 0, redis.call('LLEN', KEYS[1]) - 1 do
  redis.call('LSET', KEYS[1], i, string.format('%.0f', redis.call('LINDEX', KEYS[1], i) - ARGV[1]))
end`)

func pass(t *testing.T, server *redistest.Server, d time.Duration) {
	t.Helper()
	server.Pass(t, d)
	for _, key := range server.Keys(t) {
		if err := age.Run(context.Background(), server.Admin, []string{key}, d.Microseconds()).Err(); err != nil && err != redis.Nil {
			t.Fatal(err)
		}
	}
}

func TestRedisConforms(t *testing.T) {
	server := redistest.Start(t)
	conn := redistest.Conn(t, server.URL, nil)
	n := 0
	ratelimittest.Run(t, func(t *testing.T, test ratelimittest.Test) {
		n++
		test(t, ratelimit.NewRedis(conn, fmt.Sprintf("%s%d:", server.Prefix, n)), func(d time.Duration) { pass(t, server, d) })
	})
	pass(t, server, 25*time.Hour)
	if left := server.Keys(t); len(left) != 0 {
		t.Errorf("left a day later: %q", left)
	}
}

func TestReplicasShareALimit(t *testing.T) {
	server := redistest.Start(t)
	limit := ratelimit.Limit{N: 10, Per: time.Minute}
	var taken atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		l := ratelimit.NewRedis(redistest.Conn(t, server.URL, nil), server.Prefix)
		for range 4 {
			all.Go(func() {
				for range 10 {
					turn, err := l.Take(t.Context(), "ann", limit, 0)
					if err != nil {
						t.Errorf("take: %v", err)
					}
					if turn.OK {
						taken.Add(1)
					} else if turn.Wait <= 0 || turn.Wait > time.Minute {
						t.Errorf("wait = %s", turn.Wait)
					}
				}
			})
		}
	}
	all.Wait()
	if n := taken.Load(); n != 10 {
		t.Errorf("%d turns were taken, want 10", n)
	}
}

func TestReplicasQueueForOneEngine(t *testing.T) {
	server := redistest.Start(t)
	limit := ratelimit.Limit{N: 1, Per: time.Minute}
	a := ratelimit.NewRedis(redistest.Conn(t, server.URL, nil), server.Prefix)
	b := ratelimit.NewRedis(redistest.Conn(t, server.URL, nil), server.Prefix)
	for i, l := range []*ratelimit.Redis{a, b, a, b, b} {
		turn, err := l.Take(t.Context(), "engine", limit, time.Hour)
		want := time.Duration(i) * time.Minute
		if err != nil || !turn.OK || turn.Wait > want || turn.Wait < want-10*time.Second {
			t.Errorf("turn %d: %+v, %v", i, turn, err)
		}
	}
}

func TestAClockSetBackLocksNobodyOut(t *testing.T) {
	server := redistest.Start(t)
	l := ratelimit.NewRedis(redistest.Conn(t, server.URL, nil), server.Prefix)
	limit := ratelimit.Limit{N: 1, Per: time.Minute}
	if _, err := l.Take(t.Context(), "k", limit, 0); err != nil {
		t.Fatal(err)
	}
	pass(t, server, -24*time.Hour) // the turn lies a day ahead
	if turn, err := l.Take(t.Context(), "k", limit, 0); err != nil || !turn.OK {
		t.Errorf("turn = %+v, %v", turn, err)
	}
}

func TestRedisLostInTheMiddle(t *testing.T) {
	server := redistest.Start(t)
	line := server.Line(t)
	l := ratelimit.NewRedis(redistest.Conn(t, line.URL, slog.New(slog.DiscardHandler)), server.Prefix)
	limit := ratelimit.Limit{N: 3, Per: time.Hour}
	count := func() (taken int) {
		for range 20 {
			turn, err := l.Take(t.Context(), "k", limit, 0)
			if err != nil {
				t.Fatal(err)
			}
			if turn.OK {
				taken++
			}
		}
		return taken
	}
	if n := count(); n != 3 {
		t.Errorf("with Redis: %d turns", n)
	}
	line.Stall()
	start := time.Now()
	if n := count(); n != 3 {
		t.Errorf("without Redis: %d turns, want 3 of its own", n)
	}
	t.Logf("20 calls while Redis hangs took %s", time.Since(start))
	line.Mend()
	if n := count(); n != 0 {
		t.Errorf("afterwards: %d turns", n)
	}
}

func BenchmarkRedisTake(b *testing.B) {
	server := redistest.Start(b)
	l := ratelimit.NewRedis(redistest.Conn(b, server.URL, nil), server.Prefix)
	limit := ratelimit.Limit{N: 10, Per: time.Minute}
	for b.Loop() {
		if _, err := l.Take(b.Context(), "k", limit, 0); err != nil {
			b.Fatal(err)
		}
	}
}
