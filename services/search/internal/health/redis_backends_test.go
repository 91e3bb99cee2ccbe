//go:build backends

package health_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn/redistest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/health"
	"github.com/nanoclaw/nanoclaw/services/search/internal/health/healthtest"
)

func TestBooksThatShareRedis(t *testing.T) {
	server := redistest.Start(t)
	n := 0
	healthtest.Run(t, func(t *testing.T) (a, b *health.Book) {
		n++
		prefix := fmt.Sprintf("%s%d:", server.Prefix, n)
		book := func() *health.Book {
			conn := redistest.Conn(t, server.URL, nil)
			return health.NewBook(cache.NewRedis(conn, prefix), ratelimit.NewRedis(conn, prefix), 0)
		}
		return book(), book()
	}, time.Sleep)
}
