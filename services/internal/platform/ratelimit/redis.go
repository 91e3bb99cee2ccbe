package ratelimit

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn"
)

//go:embed take.lua
var takeScript string

// Redis is the Limiter that processes share; its clock is that of Redis. While
// Redis is away each process counts for itself, from nothing on.
type Redis struct {
	conn   *redisconn.Conn
	prefix string
	take   *redis.Script
	alone  *Memory
}

// NewRedis makes a limiter whose keys begin with prefix. conn stays the
// caller's.
func NewRedis(conn *redisconn.Conn, prefix string) *Redis {
	return &Redis{conn: conn, prefix: prefix, take: redis.NewScript(takeScript), alone: NewMemory()}
}

// Take implements Limiter.
func (r *Redis) Take(ctx context.Context, key string, limit Limit, longest time.Duration) (Turn, error) {
	if err := ctx.Err(); err != nil {
		return Turn{}, err
	}
	if limit.none() {
		return Turn{OK: true}, nil
	}
	var answer []int64
	err := r.conn.Do(ctx, func(ctx context.Context, c redis.Cmdable) error {
		var err error
		answer, err = r.take.Run(ctx, c, []string{r.prefix + key},
			min(limit.N, MaxN), max(1, limit.Per.Microseconds()), max(0, min(longest, MaxWait).Microseconds()), MaxWait.Microseconds()).Int64Slice()
		return err
	})
	if err != nil || len(answer) != 3 {
		// The connection says that Redis is away; Memory tells when it is ctx.
		return r.alone.Take(ctx, key, limit, longest)
	}
	turn := Turn{OK: answer[0] == 1, Wait: time.Duration(answer[1]) * time.Microsecond}
	if turn.OK {
		turn.giveBack = func(ctx context.Context) { r.giveBack(ctx, key, answer[2]) }
	}
	return turn, nil
}

// giveBack lets a turn lie when Redis is away: it passes by itself.
func (r *Redis) giveBack(ctx context.Context, key string, at int64) {
	_ = r.conn.Do(context.WithoutCancel(ctx), func(ctx context.Context, c redis.Cmdable) error {
		return c.LRem(ctx, r.prefix+key, -1, fmt.Sprint(at)).Err()
	})
}
