package isolate

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupPrefix begins the name of the folder that a driver makes in each
// hierarchy. The driver holds a lock on it for as long as it lives, so that
// others see which folders nobody owns any more.
const cgroupPrefix = "nanoclaw-sandbox-"

// cgroups are the folders in which a driver makes one cgroup for each run.
// A cgroup is never used again: version 2 ends whatever is put into one that
// was killed once.
type cgroups struct {
	memory, pids, cpu *hierarchy // nil: this one cannot be had
	made              []*hierarchy
	why               string // why something cannot be had
	next              atomic.Int64
}

// hierarchy is one tree of cgroups that can be written to.
type hierarchy struct {
	version int
	dir     string
	lock    *os.File
}

// openCgroups finds the cgroups of this process and makes a folder below them.
// Controllers that cannot be had are nil, which why explains.
func openCgroups(mounts []cgroupMount) *cgroups {
	c := &cgroups{}
	name := cgroupPrefix + strings.ToLower(rand.Text()[:10])
	var reasons []string
	byDir := map[string]*hierarchy{}
	find := func(controller string) *hierarchy {
		m, ok := mountOf(mounts, controller)
		if !ok {
			reasons = append(reasons, "no cgroup controller "+controller)
			return nil
		}
		if h := byDir[m.dir]; h != nil {
			return h
		}
		sweepCgroups(m.dir)
		h, err := makeHierarchy(m, name)
		if err != nil {
			reasons = append(reasons, err.Error())
			return nil
		}
		byDir[m.dir] = h
		c.made = append(c.made, h)
		return h
	}
	c.memory = find("memory")
	c.pids = find("pids")
	if c.memory != nil || c.pids != nil {
		c.cpu = find("cpuacct")
	}
	c.why = strings.Join(reasons, "; ")
	return c
}

// makeHierarchy makes the driver's folder and locks it.
func makeHierarchy(m cgroupMount, name string) (*hierarchy, error) {
	if m.version == 2 {
		if err := delegate(m.dir, m.controllers); err != nil {
			return nil, err
		}
	}
	dir := filepath.Join(m.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cgroup %s cannot be written: %w", m.dir, errors.Unwrap(err))
	}
	h := &hierarchy{version: m.version, dir: dir}
	f, err := os.Open(dir)
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil && m.version == 2 {
		err = enable(dir, m.controllers)
	}
	if err != nil {
		if f != nil {
			_ = f.Close()
		}
		_ = os.Remove(dir)
		return nil, fmt.Errorf("cgroup %s: %w", dir, err)
	}
	h.lock = f
	return h, nil
}

// delegate makes a version 2 cgroup pass its controllers on. One that holds
// processes itself may not; when this process is alone in it, it moves one
// level down, as systemd expects of a service with Delegate=yes.
func delegate(dir string, controllers []string) error {
	err := enable(dir, controllers)
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	b, readErr := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if readErr != nil || strings.TrimSpace(string(b)) != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("cgroup %s holds other processes too", dir)
	}
	leaf := filepath.Join(dir, "nanoclaw-service")
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := write(leaf, "cgroup.procs", "0"); err != nil {
		return err
	}
	return enable(dir, controllers)
}

func enable(dir string, controllers []string) error {
	var words []string
	for _, c := range controllers {
		if c == "memory" || c == "pids" {
			words = append(words, "+"+c)
		}
	}
	return write(dir, "cgroup.subtree_control", strings.Join(words, " "))
}

func write(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// close removes the driver's folders.
func (c *cgroups) close() {
	for _, h := range c.made {
		_ = os.Remove(h.dir)
		_ = h.lock.Close()
	}
}

// sweepCgroups ends and removes what drivers have left behind whose process has
// ended: nobody holds the lock of their folder.
func sweepCgroups(base string) {
	left, _ := filepath.Glob(filepath.Join(base, cgroupPrefix+"*"))
	for _, dir := range left {
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			runs, _ := filepath.Glob(filepath.Join(dir, "run-*"))
			for _, run := range runs {
				killCgroup(run)
				removeCgroup(run)
			}
			_ = os.Remove(dir)
		}
		_ = f.Close()
	}
}

// killCgroup ends every process in a cgroup. Programs cannot put others into
// theirs: cgroups are not visible in a sandbox.
func killCgroup(dir string) {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return
	}
	for _, word := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 1 && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// removeCgroup removes a cgroup whose processes have been killed; the last of
// them may need a moment to be gone.
func removeCgroup(dir string) bool {
	for wait := 100 * time.Microsecond; ; wait *= 2 {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return true
		}
		if wait > time.Second {
			return false
		}
		time.Sleep(wait)
	}
}
