package redisconn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

// ErrUnavailable says that Redis was not to be had: go on without it.
var ErrUnavailable = errors.New("no Redis is available")

const (
	// CallTimeout bounds one call, connecting included.
	CallTimeout = 250 * time.Millisecond
	// retryEvery is how often a Redis that is away is tried again.
	retryEvery = time.Second
	// maxConns bounds the connections of a process.
	maxConns = 32
)

// Conn is a bounded pool of connections to one Redis. It is safe for concurrent
// use.
type Conn struct {
	client *redis.Client
	health *health
}

// Open connects to redis://[user:password@]host:port[/db], or rediss:// for TLS.
// A Redis that cannot be reached is no error: the log says so, and the Conn
// goes on without it until it is there. An address that is none, and a Redis
// that refuses us, are. No error holds a secret. The caller closes the Conn.
func Open(ctx context.Context, url config.Secret, log *slog.Logger) (*Conn, error) {
	opt, err := options(url)
	if err != nil {
		return nil, err
	}
	h, err := newHealth(opt.Addr, log)
	if err != nil {
		return nil, err
	}
	logging.Disable() // the driver has one log for all, on stderr, with a line for every attempt
	c := &Conn{redis.NewClient(opt), h}
	if err := c.Check(ctx); err != nil && !errors.Is(err, ErrUnavailable) {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// CheckURL tells whether Open understands the address.
func CheckURL(url config.Secret) error {
	_, err := options(url)
	return err
}

func options(url config.Secret) (*redis.Options, error) {
	opt, err := redis.ParseURL(url.Reveal())
	if err != nil {
		// The parser's own words repeat the address with its password.
		return nil, errors.New("the address of Redis is written redis://[user:password@]host:port[/database], or rediss:// for TLS")
	}
	opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout, opt.PoolTimeout = CallTimeout, CallTimeout, CallTimeout, CallTimeout
	opt.ContextTimeoutEnabled = true
	opt.PoolSize, opt.MaxActiveConns = maxConns, maxConns
	opt.PipelinePoolSize = -1 // no pipelines are sent
	opt.DialerRetries = 1
	// One more attempt, for a connection that was cut while it lay in the pool.
	opt.MaxRetries, opt.MinRetryBackoff, opt.MaxRetryBackoff = 1, -1, -1
	// Handshakes that servers before Redis 7.2 answer with an error.
	opt.DisableIdentity = true
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return opt, nil
}

// Do calls Redis, at most CallTimeout long. The error is f's own redis.Nil,
// the error of a ctx that has ended, or else an ErrUnavailable.
func (c *Conn) Do(ctx context.Context, f func(context.Context, redis.Cmdable) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !c.health.mayTry() {
		c.health.without(ctx)
		return ErrUnavailable
	}
	limited, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	err := f(limited, c.client)
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		c.health.answered(ctx)
		return err
	case ctx.Err() != nil: // the caller had less time than Redis is given
		c.health.unknown()
		return ctx.Err()
	case isReply(err):
		c.health.refused(ctx, err)
	default:
		c.health.failed(ctx, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Check asks Redis for a sign of life, even while it counts as away, for the
// start and for diagnosis. A Redis that cannot be reached is an ErrUnavailable;
// one that answers but refuses us is another error, with what to do.
func (c *Conn) Check(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	err := c.client.Ping(limited).Err()
	switch {
	case err == nil:
		c.health.answered(ctx)
		return nil
	case isReply(err):
		return fmt.Errorf("the Redis at %s refuses us: check user, password and database number in its address: %w", c.health.addr, err)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	c.health.failed(ctx, err)
	return fmt.Errorf("%w at %s: start it, or correct the address: %w", ErrUnavailable, c.health.addr, err)
}

// isReply tells an answer of Redis that is an error from no answer.
func isReply(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// Close closes the connections.
func (c *Conn) Close() error { return c.client.Close() }
