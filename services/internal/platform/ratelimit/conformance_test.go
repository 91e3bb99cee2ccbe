package ratelimit_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit/ratelimittest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryConforms(t *testing.T) {
	inBubble(t, func() ratelimit.Limiter { return ratelimit.NewMemory() })
}

func inBubble(t *testing.T, open func() ratelimit.Limiter) {
	ratelimittest.Run(t, func(t *testing.T, test ratelimittest.Test) {
		synctest.Test(t, func(t *testing.T) { test(t, open(), time.Sleep) })
	})
}

func TestMemoryIsExactToTheNanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, limit := ratelimit.NewMemory(), ratelimit.Limit{N: 2, Per: time.Minute}
		for range 2 {
			if turn, err := m.Take(t.Context(), "k", limit, 0); err != nil || !turn.OK {
				t.Fatal("refused")
			}
			time.Sleep(time.Second)
		}
		turn, err := m.Take(t.Context(), "k", limit, 0)
		if err != nil || turn.OK || turn.Wait != 58*time.Second {
			t.Fatalf("turn = %+v, %v", turn, err)
		}
		time.Sleep(turn.Wait - 1)
		if turn, _ := m.Take(t.Context(), "k", limit, 0); turn.OK || turn.Wait != 1 {
			t.Errorf("a nanosecond too early: %+v", turn)
		}
		time.Sleep(time.Nanosecond)
		if turn, _ := m.Take(t.Context(), "k", limit, 0); !turn.OK {
			t.Error("refused after the wait that was named")
		}
	})
}

func TestWithoutRedisAProcessCountsForItself(t *testing.T) {
	var log bytes.Buffer
	conn := redistest.Conn(t, "redis://127.0.0.1:1", slog.New(slog.NewTextHandler(&log, nil))) // nobody listens on port 1
	// The years of a bubble lie before the moment of the next try.
	inBubble(t, func() ratelimit.Limiter { return ratelimit.NewRedis(conn, "nanoclaw:test:") })
	if !strings.Contains(log.String(), "rate limits count in this process alone") {
		t.Errorf("the log: %s", &log)
	}
}
