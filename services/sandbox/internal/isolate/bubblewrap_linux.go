package isolate

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Words of Config.Require and the check that each asks for.
var requirements = map[string]string{
	"fs":      checkFiles,
	"net":     checkNetwork,
	"pid":     checkProcesses,
	"user":    checkUser,
	"seccomp": checkSeccomp,
	"memory":  checkMemory,
	"pids":    checkPids,
}

// bubblewrap makes each sandbox with the program of that name.
type bubblewrap struct {
	cfg      Config
	required map[string]bool // names of checks
	path     string          // of the program; empty: there is none
	image    []byte          // the program itself, where it is run from a copy
	name     string          // that it runs under
	view     []string
	proc     []string
	cgroups  *cgroups
	filter   []byte // empty: there is none for this machine
	noFilter error

	probing sync.Mutex
	mu      sync.Mutex
	closed  bool
	ending  chan struct{} // closed by Close
	runs    sync.WaitGroup
	found   *Capabilities
}

// NewBubblewrap makes a driver that needs the program bwrap, version 0.8.0 or
// newer. What is missing is no error here but of its Probe and Run; an error
// is a word in cfg that has no meaning.
func NewBubblewrap(cfg Config) (Driver, error) {
	b := &bubblewrap{cfg: cfg, required: map[string]bool{}, ending: make(chan struct{})}
	words := cfg.Require
	if len(words) == 0 {
		words = []string{"fs", "net", "pid", "user", "seccomp", "memory", "pids"}
	}
	for _, w := range words {
		check, ok := requirements[w]
		if !ok {
			return nil, fmt.Errorf("isolation cannot require %q: use fs, net, pid, user, seccomp, memory, pids", w)
		}
		b.required[check] = true
	}
	name := cfg.Path
	if name == "" {
		name = "bwrap"
	}
	if path, err := exec.LookPath(name); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			b.path, b.image = path, imageOf(path)
		}
	}
	sweepProcesses()
	b.name = processName()
	b.view = hostView()
	b.proc = procView()
	mountinfo, _ := os.ReadFile("/proc/self/mountinfo")
	own, _ := os.ReadFile("/proc/self/cgroup")
	b.cgroups = openCgroups(ownCgroups(string(mountinfo), string(own)))
	b.filter, b.noFilter = seccompProgram(b.cgroups.memory == nil)
	return b, nil
}

// Run implements Driver.
func (b *bubblewrap) Run(ctx context.Context, s Spec) (Result, error) {
	if err := s.check(); err != nil {
		return Result{}, err
	}
	found := b.lastProbe()
	if found == nil {
		c := b.probe(ctx, false)
		found = &c
	}
	if missing := found.Missing(); len(missing) > 0 {
		return Result{}, &Unavailable{Missing: missing}
	}
	return b.run(ctx, s)
}

// run runs a program without asking whether the isolation is complete.
func (b *bubblewrap) run(ctx context.Context, s Spec) (Result, error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return Result{}, ErrClosed
	}
	b.runs.Add(1)
	b.mu.Unlock()
	defer b.runs.Done()

	s.Limits = s.Limits.filled()
	if s.Stdout == nil {
		s.Stdout = io.Discard
	}
	if s.Stderr == nil {
		s.Stderr = io.Discard
	}
	return (&run{driver: b, spec: s, killed: make(chan struct{})}).do(ctx)
}

// Close implements Driver.
func (b *bubblewrap) Close() error {
	b.mu.Lock()
	already := b.closed
	b.closed = true
	if !already {
		close(b.ending)
	}
	b.mu.Unlock()
	b.runs.Wait()
	if !already {
		b.cgroups.close()
	}
	return nil
}

// enforcement says how each limit is kept on this machine.
func (b *bubblewrap) enforcement() map[string]string {
	e := map[string]string{
		"wall": "timer", "cpu": "poll", "memory": "poll", "pids": "rlimit",
		"tmp": "size", "files": "poll", "output": "count",
	}
	if b.cgroups.memory != nil {
		e["memory"] = "cgroup"
	}
	if b.cgroups.pids != nil {
		e["pids"] = "cgroup"
	}
	if b.cgroups.cpu != nil {
		e["cpu"] = "cgroup"
	}
	return e
}
