package cache_test

import (
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
)

func TestConfigValidate(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  cache.Config
		want string // empty: fine
	}{
		{"nothing said", cache.Config{}, ""},
		{"memory", cache.Config{Driver: "memory"}, ""},
		{"redis", cache.Config{Driver: "redis", URL: "redis://:hunter2@cache:6379/1"}, ""},
		{"another driver", cache.Config{Driver: "memcached"}, `cache.driver is "memcached": it must be memory or redis`},
		{"redis without an address", cache.Config{Driver: "redis"}, "cache.url is empty"},
		{"an address that is none", cache.Config{Driver: "redis", URL: "http://:hunter2@cache"}, "cache.url: the address of Redis is written redis://"},
		{"an address without redis", cache.Config{URL: "redis://cache:6379"}, "cache.driver is not redis"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.cfg.Validate()
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("err = %v, want %q", err, tc.want)
			}
		})
	}
}
