//go:build backends

package redisconn_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn/redistest"
)

// until asks again until done or the test's time is up.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("in 30 s it did not come to this: %s", what)
		}
	}
}

func TestRedisGoesAndComesBack(t *testing.T) {
	server := redistest.Start(t)
	for _, way := range []struct {
		name string
		lose func(*redistest.Line)
	}{
		{"its line is cut", (*redistest.Line).Cut},
		{"it hangs", (*redistest.Line).Stall},
	} {
		t.Run(way.name, func(t *testing.T) {
			var log bytes.Buffer
			line := server.Line(t)
			c := redistest.Conn(t, line.URL, slog.New(slog.NewTextHandler(&log, nil)))
			if err := ping(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			way.lose(line)
			var longest time.Duration
			for range 200 {
				start := time.Now()
				if err := ping(t.Context(), c); !errors.Is(err, redisconn.ErrUnavailable) {
					t.Fatalf("err = %v", err)
				}
				longest = max(longest, time.Since(start))
			}
			if longest > 8*redisconn.CallTimeout {
				t.Errorf("a call waited %s", longest)
			}
			t.Logf("the longest of 200 calls without Redis: %s", longest)
			line.Mend()
			until(t, "Redis is used again", func() bool { return ping(t.Context(), c) == nil })
			for range 50 {
				if err := ping(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			if len(lines) != 2 || !strings.Contains(lines[0], "Redis does not answer") || !strings.Contains(lines[1], "Redis answers again") {
				t.Errorf("the log:\n%s", &log)
			}
		})
	}
}

func TestManyCallersWhileTheLineIsCutAgainAndAgain(t *testing.T) {
	line := redistest.Start(t).Line(t)
	c := redistest.Conn(t, line.URL, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 64 { // twice the connections there are
		all.Go(func() {
			for ctx.Err() == nil {
				err := ping(ctx, c)
				if err != nil && !errors.Is(err, redisconn.ErrUnavailable) && !errors.Is(err, context.Canceled) {
					t.Errorf("err = %v", err)
				}
			}
		})
	}
	for range 3 {
		line.Cut()
		until(t, "no answer", func() bool { return ping(t.Context(), c) != nil })
		line.Mend()
		until(t, "an answer", func() bool { return ping(t.Context(), c) == nil })
	}
	stop()
	all.Wait()
}

func TestARedisThatRefusesUs(t *testing.T) {
	server := redistest.Start(t)
	u, err := url.Parse(server.URL.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("nobody", "hunter2")
	_, err = redisconn.Open(t.Context(), config.Secret(u.String()), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "check user, password") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("err = %v", err)
	}
}

func TestARefusedCallLeavesTheOthersAlone(t *testing.T) {
	server := redistest.Start(t)
	var log bytes.Buffer
	c := redistest.Conn(t, server.URL, slog.New(slog.NewTextHandler(&log, nil)))
	for range 10 {
		err := c.Do(t.Context(), func(ctx context.Context, r redis.Cmdable) error {
			return r.Eval(ctx, "return {err = 'OOM there is no room'}", nil).Err()
		})
		if !errors.Is(err, redisconn.ErrUnavailable) {
			t.Fatalf("err = %v", err)
		}
		if err := ping(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "Redis refuses a call") {
		t.Errorf("the log has %d lines:\n%s", n, &log)
	}
}
