package sandbox

import (
	"strings"
	"testing"
	"time"
)

func TestTheDefaultsAreValid(t *testing.T) {
	cfg := DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	if cfg.parallel() < 1 || cfg.limits().MemoryBytes != 512<<20 || len(cfg.Require) != 7 || cfg.MemoryPoll {
		t.Errorf("%+v", cfg)
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Config)
		says   string
	}{
		{"isolation that nobody knows", func(c *Config) { c.Require = []string{"fs", "gpu"} }, `sandbox.require[1] is "gpu"`},
		{"no isolation", func(c *Config) { c.Require = nil }, "sandbox.require is empty"},
		{"no time", func(c *Config) { c.Limits.Wall = 0 }, "sandbox.limits.wall is 0s"},
		{"more time than a call has", func(c *Config) { c.Limits.Wall = 2 * time.Minute }, "sandbox.limits.wall is 2m0s: it must be 1s to 1m0s"},
		{"no processor", func(c *Config) { c.Limits.CPU = 0 }, "sandbox.limits.cpu"},
		{"no memory", func(c *Config) { c.Limits.MemoryMiB = 1 }, "sandbox.limits.memory_mib is 1: it must be 16"},
		{"no /tmp", func(c *Config) { c.Limits.TmpMiB = 0 }, "sandbox.limits.tmp_mib"},
		{"no processes", func(c *Config) { c.Limits.Pids = 0 }, "sandbox.limits.pids"},
		{"no files", func(c *Config) { c.Limits.OpenFiles = 3 }, "sandbox.limits.open_files"},
		{"a negative number of programs", func(c *Config) { c.Parallel = -1 }, "sandbox.parallel is -1"},
		{"a queue without end", func(c *Config) { c.Queue = 1 << 30 }, "sandbox.queue"},
		{"no quota", func(c *Config) { c.Workspaces.QuotaMiB = 0 }, "sandbox.workspaces.quota_mib"},
		{"no room for files", func(c *Config) { c.Workspaces.MaxFiles = 0 }, "sandbox.workspaces.max_files"},
		{"a root to write to", func(c *Config) { c.Roots = []RootConfig{{"/var/log", "rw"}} }, "sandbox.roots[0]: mode is \"rw\""},
		{"a root without a mode", func(c *Config) { c.Roots = []RootConfig{{Path: "/var/log"}} }, "sandbox.roots[0]: mode is \"\""},
		{"a relative root", func(c *Config) { c.Roots = []RootConfig{{"log", "ro"}} }, "sandbox.roots[0]: path is \"log\""},
		{"a root with ..", func(c *Config) { c.Roots = []RootConfig{{"/var/../etc", "ro"}} }, "sandbox.roots[0]: path"},
		{"the whole machine", func(c *Config) { c.Roots = []RootConfig{{"/", "ro"}} }, "the whole machine"},
		{"a folder that is another in a sandbox", func(c *Config) { c.Roots = []RootConfig{{"/proc/1", "ro"}} }, "/proc is another folder in a sandbox"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := DefaultConfig()
			tc.change(&cfg)
			if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
		})
	}
}

func TestRootsThatShowTheDataFolder(t *testing.T) {
	for root, ok := range map[string]bool{
		"/srv/nanoclaw/data": false, "/srv/nanoclaw": false, "/srv/nanoclaw/data/logs": false, "/srv/nanoclaw/data-logs": true, "/var/log": true,
	} {
		cfg := DefaultConfig()
		cfg.Roots = []RootConfig{{root, "ro"}}
		if err := cfg.apartFrom("/srv/nanoclaw/data"); (err == nil) != ok {
			t.Errorf("%s: %v", root, err)
		}
	}
}
