package cache

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn"
)

const (
	// MaxRedisValueBytes bounds a value in Redis: a larger one would take too
	// much of the time that a call has, and is not kept.
	MaxRedisValueBytes = 4 << 20
	// maxRedisTTL is how long a value without an end is kept, so that nothing
	// stays in a server that removes nothing by itself.
	maxRedisTTL = 7 * 24 * time.Hour
	// minRedisTTL is the shortest time that Redis knows.
	minRedisTTL = time.Millisecond
)

// Redis is a Cache that processes share. While Redis is away nothing is found
// and nothing is kept, and no call fails or waits: a value that was replaced or
// deleted meanwhile may be seen again until its time is up.
type Redis struct {
	conn   *redisconn.Conn
	prefix string
}

// NewRedis makes a cache whose keys begin with prefix. conn stays the caller's.
func NewRedis(conn *redisconn.Conn, prefix string) *Redis { return &Redis{conn, prefix} }

// Get implements Cache. It fails only when ctx has ended.
func (r *Redis) Get(ctx context.Context, key string) ([]byte, bool, error) {
	var val []byte
	err := r.conn.Do(ctx, func(ctx context.Context, c redis.Cmdable) error {
		var err error
		val, err = c.Get(ctx, r.prefix+key).Bytes()
		return err
	})
	if err != nil {
		return nil, false, ctx.Err() // not there, or Redis is not: a miss
	}
	return val, true, nil
}

// Set implements Cache. It fails only when ctx has ended.
func (r *Redis) Set(ctx context.Context, key string, val []byte, ttl time.Duration) error {
	if ttl < 0 || len(val) > MaxRedisValueBytes {
		return r.Delete(ctx, key) // a value that is not kept must not leave an older one behind
	}
	if ttl == 0 {
		ttl = maxRedisTTL
	}
	return r.try(ctx, func(ctx context.Context, c redis.Cmdable) error {
		return c.Set(ctx, r.prefix+key, val, max(ttl, minRedisTTL)).Err()
	})
}

// Delete implements Cache. It fails only when ctx has ended.
func (r *Redis) Delete(ctx context.Context, key string) error {
	return r.try(ctx, func(ctx context.Context, c redis.Cmdable) error {
		return c.Del(ctx, r.prefix+key).Err()
	})
}

// try does what is dropped when Redis is away; the connection has said so.
func (r *Redis) try(ctx context.Context, f func(context.Context, redis.Cmdable) error) error {
	if err := r.conn.Do(ctx, f); err != nil {
		return ctx.Err()
	}
	return nil
}
