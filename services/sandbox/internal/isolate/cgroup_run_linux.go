package isolate

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cgroup is the cgroup of one run, in each hierarchy that there is.
type cgroup struct {
	of                *cgroups
	dirs              []string
	memory, pids, cpu string // folders; empty: not limited or counted here
}

// open makes the cgroup of a run, with its limits.
func (c *cgroups) open(l Limits) (*cgroup, error) {
	n := c.next.Add(1)
	g := &cgroup{of: c}
	dir := map[*hierarchy]string{}
	for _, h := range c.made {
		d := filepath.Join(h.dir, "run-"+strconv.FormatInt(n, 10))
		if err := os.Mkdir(d, 0o755); err != nil {
			g.close()
			return nil, err
		}
		g.dirs = append(g.dirs, d)
		dir[h] = d
	}
	var err error
	if c.memory != nil {
		g.memory = dir[c.memory]
		err = errors.Join(err, limitMemory(c.memory.version, g.memory, l.MemoryBytes))
	}
	if c.pids != nil {
		g.pids = dir[c.pids]
		// Two are bubblewrap's own: the one outside and the first inside.
		err = errors.Join(err, write(g.pids, "pids.max", strconv.Itoa(l.Pids+2)))
	}
	if c.cpu != nil {
		g.cpu = dir[c.cpu]
	}
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func limitMemory(version int, dir string, bytes int64) error {
	n := strconv.FormatInt(bytes, 10)
	if version == 2 {
		_ = write(dir, "memory.swap.max", "0") // is not there without swap
		_ = write(dir, "memory.oom.group", "1")
		return write(dir, "memory.max", n)
	}
	err := write(dir, "memory.limit_in_bytes", n)
	_ = write(dir, "memory.swappiness", "0")
	_ = write(dir, "memory.memsw.limit_in_bytes", n) // is not there without accounting of swap
	return err
}

// add puts a process into the cgroup.
func (g *cgroup) add(pid int) error {
	for _, d := range g.dirs {
		if err := write(d, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// close removes the cgroup; what is still in it is ended.
func (g *cgroup) close() bool {
	gone := true
	for _, d := range g.dirs {
		killCgroup(d)
		gone = removeCgroup(d) && gone
	}
	return gone
}

// oomKills is how many processes were ended for want of memory.
func (g *cgroup) oomKills() int64 {
	if g.memory == "" {
		return 0
	}
	file := "memory.oom_control"
	if g.of.memory.version == 2 {
		file = "memory.events"
	}
	return field(g.memory, file, "oom_kill")
}

// pidsDenied is how often a process or thread was not made.
func (g *cgroup) pidsDenied() int64 {
	if g.pids == "" {
		return 0
	}
	return field(g.pids, "pids.events", "max")
}

// maxMemory is the most memory in use at a time; 0 when not known.
func (g *cgroup) maxMemory() int64 {
	if g.memory == "" {
		return 0
	}
	file := "memory.max_usage_in_bytes"
	if g.of.memory.version == 2 {
		file = "memory.peak"
	}
	return field(g.memory, file, "")
}

// cpuTime is the time on processors of all that ever was in it.
func (g *cgroup) cpuTime() time.Duration {
	switch {
	case g.cpu == "":
		return 0
	case g.of.cpu.version == 2:
		return time.Duration(field(g.cpu, "cpu.stat", "usage_usec")) * time.Microsecond
	}
	return time.Duration(field(g.cpu, "cpuacct.usage", ""))
}

// field is the number after a word at the beginning of a line of a file, or the
// file's only number; 0 when it is not there.
func field(dir, file, word string) int64 {
	f, err := os.Open(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		value := lines.Text()
		if word != "" {
			name, rest, _ := strings.Cut(value, " ")
			if name != word {
				continue
			}
			value = rest
		}
		n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		return n
	}
	return 0
}
