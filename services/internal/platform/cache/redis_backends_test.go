//go:build backends

package cache_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache/cachetest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn/redistest"
)

func TestRedisConforms(t *testing.T) {
	server := redistest.Start(t)
	conn := redistest.Conn(t, server.URL, nil)
	n := 0
	cachetest.Run(t, func(*testing.T) cache.Cache {
		n++
		return cache.NewRedis(conn, fmt.Sprintf("%s%d:", server.Prefix, n))
	})
}

func TestRedisEntriesExpire(t *testing.T) {
	server := redistest.Start(t)
	c := cache.NewRedis(redistest.Conn(t, server.URL, nil), server.Prefix)
	cachetest.RunTTL(t, c, func(d time.Duration) { server.Pass(t, d) })
}

func TestNothingStaysInRedisForEver(t *testing.T) {
	server := redistest.Start(t)
	c := cache.NewRedis(redistest.Conn(t, server.URL, nil), server.Prefix)
	for name, ttl := range map[string]time.Duration{"no end": 0, "an end": time.Hour, "a nanosecond": 1} {
		if err := c.Set(t.Context(), name, []byte("v"), ttl); err != nil {
			t.Fatal(err)
		}
	}
	server.Pass(t, 8*24*time.Hour)
	if left := server.Keys(t); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

func TestAValueTooLargeForRedisIsNotKeptAndLeavesNoOldOne(t *testing.T) {
	server := redistest.Start(t)
	c := cache.NewRedis(redistest.Conn(t, server.URL, nil), server.Prefix)
	for _, val := range [][]byte{[]byte("old"), bytes.Repeat([]byte("x"), cache.MaxRedisValueBytes+1)} {
		if err := c.Set(t.Context(), "k", val, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	cachetest.WantNone(t, c, "k")
}

func TestTwoProcessesShareAndTwoPrefixesDoNot(t *testing.T) {
	server := redistest.Start(t)
	a := cache.NewRedis(redistest.Conn(t, server.URL, nil), server.Prefix+"pages:")
	b := cache.NewRedis(redistest.Conn(t, server.URL, nil), server.Prefix+"pages:")
	other := cache.NewRedis(redistest.Conn(t, server.URL, nil), server.Prefix+"robots:")
	if err := a.Set(t.Context(), "k", []byte("v"), time.Minute); err != nil {
		t.Fatal(err)
	}
	cachetest.Want(t, b, "k", "v")
	cachetest.WantNone(t, other, "k")
}

func TestRedisLostInTheMiddle(t *testing.T) {
	server := redistest.Start(t)
	line := server.Line(t)
	c := cache.NewRedis(redistest.Conn(t, line.URL, slog.New(slog.DiscardHandler)), server.Prefix)
	if err := c.Set(t.Context(), "k", []byte("v"), time.Minute); err != nil {
		t.Fatal(err)
	}
	line.Stall()
	for range 20 {
		cachetest.WantNone(t, c, "k")
		if err := c.Set(t.Context(), "k", []byte("dropped"), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	line.Mend()
	late := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if val, ok, err := c.Get(t.Context(), "k"); err != nil {
			t.Fatal(err)
		} else if ok {
			// The first Set of the outage may have arrived late.
			if string(val) != "v" && string(val) != "dropped" {
				t.Errorf("val = %q", val)
			}
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("the cache did not come back in 30 s")
		}
	}
}
