// Package cachetest is the conformance suite of cache.Cache: every kind of cache
// runs it.
package cachetest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
)

// Run checks everything but the passing of time. open answers a new, empty
// cache with room for at least 1 MiB.
func Run(t *testing.T, open func(t *testing.T) cache.Cache) {
	t.Run("what is set is got, byte by byte", func(t *testing.T) {
		c := open(t)
		for key, val := range map[string]string{
			"plain": "value", "empty value": "", "": "empty key", "odd \x00\xff key": "\x00\xff\r\n", "ünï:文字": "x", "large": string(bytes.Repeat([]byte("y"), 200<<10)),
		} {
			set(t, c, key, val, time.Minute)
			Want(t, c, key, val)
		}
	})
	t.Run("a second set replaces the first", func(t *testing.T) {
		c := open(t)
		set(t, c, "k", "a long first value", 0)
		set(t, c, "k", "two", time.Minute)
		Want(t, c, "k", "two")
	})
	t.Run("what is not there", func(t *testing.T) {
		c := open(t)
		set(t, c, "gone", "x", 0)
		for _, key := range []string{"gone", "never"} {
			if err := c.Delete(context.Background(), key); err != nil {
				t.Errorf("delete %q: %v", key, err)
			}
			WantNone(t, c, key)
		}
	})
	t.Run("a negative ttl removes", func(t *testing.T) {
		c := open(t)
		set(t, c, "k", "x", 0)
		set(t, c, "k", "y", -time.Second)
		WantNone(t, c, "k")
	})
	t.Run("slices are the caller's own", func(t *testing.T) {
		c := open(t)
		mine := []byte("mine")
		if err := c.Set(context.Background(), "k", mine, 0); err != nil {
			t.Fatal(err)
		}
		copy(mine, "XXXX")
		got, _, err := c.Get(context.Background(), "k")
		if err != nil || string(got) != "mine" {
			t.Errorf("get = %q, %v", got, err)
		}
		copy(got, "YYYY")
		Want(t, c, "k", "mine")
	})
	t.Run("many at once", func(t *testing.T) {
		c := open(t)
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				for i := range 200 {
					key := fmt.Sprint("key ", i%50)
					val := bytes.Repeat([]byte(key), 10)
					if err := c.Set(context.Background(), key, val, time.Minute); err != nil {
						t.Errorf("set: %v", err)
					}
					got, ok, err := c.Get(context.Background(), key)
					if err != nil || (ok && !bytes.Equal(got, val)) {
						t.Errorf("get %q = %q, %v", key, got, err)
					}
					if g == 0 && i%7 == 0 {
						if err := c.Delete(context.Background(), key); err != nil {
							t.Errorf("delete: %v", err)
						}
					}
				}
			})
		}
		all.Wait()
	})
}

// RunTTL checks that entries expire. pass lets time go by for the cache: a
// sleep in a synctest bubble, a moved clock of a test server.
func RunTTL(t *testing.T, c cache.Cache, pass func(time.Duration)) {
	t.Helper()
	set(t, c, "short", "s", 2*time.Second)
	set(t, c, "long", "l", time.Hour)
	set(t, c, "forever", "f", 0)
	set(t, c, "renewed", "r", 2*time.Second)
	pass(time.Second)
	Want(t, c, "short", "s")
	set(t, c, "renewed", "r", 2*time.Second)
	pass(time.Second)
	WantNone(t, c, "short")
	Want(t, c, "renewed", "r")
	Want(t, c, "long", "l")
	pass(time.Hour)
	WantNone(t, c, "renewed")
	WantNone(t, c, "long")
	Want(t, c, "forever", "f")
}

func set(t *testing.T, c cache.Cache, key, val string, ttl time.Duration) {
	t.Helper()
	if err := c.Set(context.Background(), key, []byte(val), ttl); err != nil {
		t.Fatalf("set %q: %v", key, err)
	}
}

// Want checks that the cache holds val under key.
func Want(t *testing.T, c cache.Cache, key, val string) {
	t.Helper()
	got, ok, err := c.Get(context.Background(), key)
	if err != nil || !ok || string(got) != val {
		t.Errorf("get %q = %d bytes, %v, %v; want %d bytes", key, len(got), ok, err, len(val))
	}
}

// WantNone checks that the cache holds nothing under key.
func WantNone(t *testing.T, c cache.Cache, key string) {
	t.Helper()
	if got, ok, err := c.Get(context.Background(), key); err != nil || ok || got != nil {
		t.Errorf("get %q = %q, %v, %v; want nothing", key, got, ok, err)
	}
}
