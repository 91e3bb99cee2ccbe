package redisconn_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnAddressThatIsNoneIsRefusedWithoutItsPassword(t *testing.T) {
	for _, address := range []config.Secret{
		"", "127.0.0.1:6379", "http://:hunter2@127.0.0.1", "redis://:hunter2@127.0.0.1:nan", "redis://:hunter2@h/notanumber", "redis://:hunt%zzer2@h",
	} {
		_, err := redisconn.Open(t.Context(), address, nil)
		if err == nil || !strings.Contains(err.Error(), "redis://[user:password@]host:port") || strings.Contains(err.Error(), "hunt") {
			t.Errorf("open %q: %v", address.Reveal(), err)
		}
		if redisconn.CheckURL(address) == nil {
			t.Errorf("check %q: no error", address.Reveal())
		}
	}
	if err := redisconn.CheckURL("rediss://ann:pw@cache.example:6380/3"); err != nil {
		t.Error(err)
	}
}

// nobody is an address where nobody listens.
func nobody(t *testing.T) config.Secret {
	t.Helper()
	return config.Secret("redis://:hunter2@" + addrtest.Reserve(t))
}

// ping is a call of the smallest kind.
func ping(ctx context.Context, c *redisconn.Conn) error {
	return c.Do(ctx, func(ctx context.Context, r redis.Cmdable) error { return r.Ping(ctx).Err() })
}

func TestWithoutRedisAProcessStartsAndSaysSoOnce(t *testing.T) {
	var log bytes.Buffer
	c := redistest.Conn(t, nobody(t), slog.New(slog.NewTextHandler(&log, nil)))
	start := time.Now()
	for range 1000 {
		if err := ping(t.Context(), c); !errors.Is(err, redisconn.ErrUnavailable) {
			t.Fatalf("err = %v", err)
		}
	}
	// One call in a second tries; the others cost nothing.
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("1000 calls without Redis took %s", took)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "Redis does not answer") {
		t.Errorf("the log has %d lines:\n%s", n, &log)
	}
	err := c.Check(t.Context())
	if !errors.Is(err, redisconn.ErrUnavailable) || !strings.Contains(err.Error(), "start it, or correct the address") {
		t.Errorf("check: %v", err)
	}
	if strings.Contains(err.Error()+log.String(), "hunter2") {
		t.Error("the password is told")
	}
}

// silent is an address that takes connections and says nothing.
func silent(t *testing.T) config.Secret {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	return config.Secret("redis://" + lis.Addr().String())
}

func TestARedisThatSaysNothingIsNotWaitedFor(t *testing.T) {
	start := time.Now()
	c := redistest.Conn(t, silent(t), slog.New(slog.DiscardHandler))
	for range 3 {
		if err := ping(t.Context(), c); !errors.Is(err, redisconn.ErrUnavailable) {
			t.Fatalf("err = %v", err)
		}
	}
	if took := time.Since(start); took > 10*redisconn.CallTimeout {
		t.Errorf("took %s", took)
	}
}

func TestACallWhoseTimeIsUpIsItsOwnFaultAlone(t *testing.T) {
	var log bytes.Buffer
	c := redistest.Conn(t, nobody(t), slog.New(slog.NewTextHandler(&log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ping(ctx, c); !errors.Is(err, context.Canceled) || errors.Is(err, redisconn.ErrUnavailable) {
		t.Errorf("err = %v", err)
	}
}
