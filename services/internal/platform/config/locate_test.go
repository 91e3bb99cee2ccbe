package config_test

import (
	"errors"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

func TestErrorsSayWhereASettingCameFrom(t *testing.T) {
	origins := map[string]string{"crawler.timeout": "config.yml:2", "models": "config.yml:4", "models[0].id": "config.yml:5", "data_dir": "command line"}
	for _, tc := range []struct{ name, text, want string }{
		{"a key with a colon", "crawler.timeout: 0 is too short", "config.yml:2: crawler.timeout: 0 is too short"},
		{"a key in a sentence", "data_dir is empty", "command line: data_dir is empty"},
		{"a key in a list", "models[0].id: too long", "config.yml:5: models[0].id: too long"},
		{"a key that is missing in a list", "models[1].api_url is no address", "config.yml:4: models[1].api_url is no address"},
		{"a default", "runs.queued: -1", "runs.queued: -1"},
		{"a key that begins like another", "crawler.timeouts: no", "crawler.timeouts: no"},
		{"no key", "something else", "something else"},
		{"several lines", "crawler.timeout: no\nx\ndata_dir: no", "config.yml:2: crawler.timeout: no\nx\ncommand line: data_dir: no"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := config.Locate(errors.New(tc.text), origins).Error(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if err := config.Locate(nil, origins); err != nil {
		t.Error(err)
	}
}
