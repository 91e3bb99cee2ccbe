package cache_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache/cachetest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWithoutRedisEveryGetIsAMissAndNothingFails(t *testing.T) {
	conn := redistest.Conn(t, "redis://127.0.0.1:1", slog.New(slog.DiscardHandler)) // nobody listens on port 1
	c := cache.NewRedis(conn, "nanoclaw:test:")
	for range 100 {
		if err := c.Set(t.Context(), "k", []byte("v"), time.Minute); err != nil {
			t.Fatal(err)
		}
		cachetest.WantNone(t, c, "k")
		if err := c.Delete(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.Get(ctx, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("get when the caller is gone: %v", err)
	}
	if err := c.Set(ctx, "k", bytes.Repeat([]byte("x"), cache.MaxRedisValueBytes+1), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("set when the caller is gone: %v", err)
	}
}
