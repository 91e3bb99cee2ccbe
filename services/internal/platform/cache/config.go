package cache

import (
	"errors"
	"fmt"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn"
)

// Drivers of the cache.
const (
	DriverMemory = "memory"
	DriverRedis  = "redis"
)

// Config is what an operator may set: where cached answers and rate buckets are
// kept.
type Config struct {
	// Driver is memory, for a process alone, or redis, for replicas that share.
	// Empty means memory.
	Driver string `config:"driver"`
	// URL is the address of Redis: redis://[user:password@]host:port[/database],
	// or rediss:// for TLS.
	URL config.Secret `config:"url"`
}

// Shared tells whether Redis is to be used.
func (c Config) Shared() bool { return c.Driver == DriverRedis }

// Validate names every setting that cannot be.
func (c Config) Validate() error {
	switch c.Driver {
	case DriverRedis:
		if c.URL == "" {
			return errors.New("cache.url is empty: with cache.driver redis, give its address, such as redis://127.0.0.1:6379")
		}
		if err := redisconn.CheckURL(c.URL); err != nil {
			return fmt.Errorf("cache.url: %w", err)
		}
	case "", DriverMemory:
		if c.URL != "" {
			return errors.New("cache.url is given, but cache.driver is not redis: set it, or leave the URL out")
		}
	default:
		return fmt.Errorf("cache.driver is %q: it must be %s or %s", c.Driver, DriverMemory, DriverRedis)
	}
	return nil
}
