package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache/cachetest"
)

func TestMemoryConforms(t *testing.T) {
	cachetest.Run(t, func(*testing.T) cache.Cache { return cache.NewMemory(1 << 20) })
}

func TestMemoryEntriesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cachetest.RunTTL(t, cache.NewMemory(1<<20), time.Sleep)
	})
}
