package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
)

// maxWall is the longest that a program may run: a tool call has a minute.
const maxWall = 60 * time.Second

const (
	defaultQueue    = 64
	defaultQuotaMiB = 256
	defaultMaxFiles = 10_000
)

// Bounds of the settings, so that a slip of the pen is found at the start.
const (
	maxParallel  = 1024
	maxQueue     = 10_000
	maxSizeMiB   = 1 << 20 // 1 TiB
	minMemoryMiB = 16      // below it no interpreter starts
	maxPids      = 32_768
	minOpenFiles = 16
	maxOpenFiles = 1 << 20
	maxFiles     = 10_000_000
)

// Config is the `sandbox` section of the configuration.
type Config struct {
	// Require is the isolation without which nothing is run: fs, net, pid, user,
	// seccomp, memory and pids. All of them when not set.
	Require []string `config:"require"`
	// MemoryPoll accepts a memory limit that is kept by measuring every 10
	// milliseconds where no cgroup can be written. A server that only people at
	// its own machine can reach accepts it in any case.
	MemoryPoll bool `config:"memory_poll"`
	// Bubblewrap is the program that makes the sandboxes. Empty: bwrap of PATH.
	Bubblewrap string `config:"bubblewrap"`
	// Limits are what one program may use.
	Limits LimitsConfig `config:"limits"`
	// Parallel is how many programs run at a time; 0: as many as there are CPUs.
	Parallel int `config:"parallel"`
	// Queue is how many programs may wait for their turn; the next one is
	// refused. Users take turns.
	Queue int `config:"queue"`
	// Workspaces bounds the files that are kept.
	Workspaces WorkspacesConfig `config:"workspaces"`
	// Roots are folders of this machine that programs and file tools may read,
	// for example one with logs. None when not set.
	Roots []RootConfig `config:"roots"`
}

// LimitsConfig is what one program and all that it starts may use together.
type LimitsConfig struct {
	// Wall is the time on the clock, at most a minute; a request may ask for
	// less. CPU is the time on processors.
	Wall time.Duration `config:"wall"`
	CPU  time.Duration `config:"cpu"`
	// MemoryMiB is the memory in use, with files kept in memory.
	MemoryMiB int `config:"memory_mib"`
	// TmpMiB is the size of /tmp.
	TmpMiB int `config:"tmp_mib"`
	// Pids is how many processes and threads there may be.
	Pids int `config:"pids"`
	// OpenFiles is how many files a process may have open.
	OpenFiles int `config:"open_files"`
}

// WorkspacesConfig bounds one workspace.
type WorkspacesConfig struct {
	// QuotaMiB is what its files may take.
	QuotaMiB int `config:"quota_mib"`
	// MaxFiles is how many files and folders it may have.
	MaxFiles int `config:"max_files"`
}

// RootConfig is a folder of this machine that may be read.
type RootConfig struct {
	// Path is absolute.
	Path string `config:"path"`
	// Mode is ro: nothing in it is ever written.
	Mode string `config:"mode"`
}

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	limits := isolate.DefaultLimits()
	return Config{
		Require: isolation(),
		Limits: LimitsConfig{
			Wall: limits.Wall, CPU: limits.CPU,
			MemoryMiB: int(limits.MemoryBytes >> 20), TmpMiB: int(limits.TmpBytes >> 20),
			Pids: limits.Pids, OpenFiles: limits.OpenFiles,
		},
		Queue:      defaultQueue,
		Workspaces: WorkspacesConfig{QuotaMiB: defaultQuotaMiB, MaxFiles: defaultMaxFiles},
	}
}

// isolation is all that can be required.
func isolation() []string { return []string{"fs", "net", "pid", "user", "seccomp", "memory", "pids"} }

// Validate names every value that is out of range.
func (c Config) Validate() error {
	var errs []error
	for i, name := range c.Require {
		if !slices.Contains(isolation(), name) {
			errs = append(errs, fmt.Errorf("sandbox.require[%d] is %q: it must be one of %s", i, name, strings.Join(isolation(), ", ")))
		}
	}
	if len(c.Require) == 0 {
		errs = append(errs, errors.New("sandbox.require is empty: without isolation no program is run; leave the key out to require all of it"))
	}
	between := func(key string, value, least, most int) {
		if value < least || value > most {
			errs = append(errs, fmt.Errorf("sandbox.%s is %d: it must be %d to %d", key, value, least, most))
		}
	}
	if c.Limits.Wall < time.Second || c.Limits.Wall > maxWall {
		errs = append(errs, fmt.Errorf("sandbox.limits.wall is %s: it must be 1s to %s", c.Limits.Wall, maxWall))
	}
	if c.Limits.CPU < time.Second {
		errs = append(errs, fmt.Errorf("sandbox.limits.cpu is %s: it must be 1s or longer", c.Limits.CPU))
	}
	between("limits.memory_mib", c.Limits.MemoryMiB, minMemoryMiB, maxSizeMiB)
	between("limits.tmp_mib", c.Limits.TmpMiB, 1, maxSizeMiB)
	between("limits.pids", c.Limits.Pids, 1, maxPids)
	between("limits.open_files", c.Limits.OpenFiles, minOpenFiles, maxOpenFiles)
	between("parallel", c.Parallel, 0, maxParallel)
	between("queue", c.Queue, 0, maxQueue)
	between("workspaces.quota_mib", c.Workspaces.QuotaMiB, 1, maxSizeMiB)
	between("workspaces.max_files", c.Workspaces.MaxFiles, 1, maxFiles)
	for i, r := range c.Roots {
		if err := r.validate(); err != nil {
			errs = append(errs, fmt.Errorf("sandbox.roots[%d]: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// ownFolders have another meaning in a sandbox.
var ownFolders = []string{"/proc", "/sys", "/dev", "/run/nanoclaw", "/workspace"}

func (r RootConfig) validate() error {
	switch {
	case r.Mode != "ro":
		return fmt.Errorf("mode is %q: folders of this machine can only be read, write mode: ro", r.Mode)
	case !filepath.IsAbs(r.Path) || filepath.Clean(r.Path) != r.Path:
		return fmt.Errorf("path is %q: give an absolute path without . and .. and without / at its end, such as /var/log", r.Path)
	case r.Path == "/":
		return errors.New("path is the whole machine: name the folders that are to be read")
	}
	for _, own := range ownFolders {
		if within(own, r.Path) {
			return fmt.Errorf("path is %s: %s is another folder in a sandbox", r.Path, own)
		}
	}
	return nil
}

// apartFrom refuses roots that would show what the services keep.
func (c Config) apartFrom(dataDir string) error {
	dir, err := filepath.Abs(dataDir)
	if err != nil {
		return fmt.Errorf("data folder %s: %w", dataDir, err)
	}
	for i, r := range c.Roots {
		if within(dir, r.Path) || within(r.Path, dir) {
			return fmt.Errorf("sandbox.roots[%d].path is %s: it would show the data folder %s, which has keys and everybody's files", i, r.Path, dir)
		}
	}
	return nil
}

// within says whether path is folder or below it.
func within(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// parallel is how many programs run at a time.
func (c Config) parallel() int {
	if c.Parallel > 0 {
		return c.Parallel
	}
	return runtime.NumCPU()
}

// limits are the limits of one program.
func (c Config) limits() isolate.Limits {
	return isolate.Limits{
		Wall: c.Limits.Wall, CPU: c.Limits.CPU,
		MemoryBytes: int64(c.Limits.MemoryMiB) << 20, TmpBytes: int64(c.Limits.TmpMiB) << 20,
		Pids: c.Limits.Pids, OpenFiles: c.Limits.OpenFiles,
		FileBytes: int64(c.Workspaces.QuotaMiB) << 20, Files: c.Workspaces.MaxFiles,
	}
}

// roots are the paths of the folders that may be read.
func (c Config) roots() []string {
	var paths []string
	for _, r := range c.Roots {
		paths = append(paths, r.Path)
	}
	return paths
}
