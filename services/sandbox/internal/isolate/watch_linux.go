package isolate

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// pollTime is how often a sandbox is looked at whose memory or number of
	// processes is measured; lookTime where cgroups keep them.
	pollTime = 10 * time.Millisecond
	lookTime = 25 * time.Millisecond
	// usageTime is how often the files of a workspace are counted, at most: as
	// long as it takes twenty times over is left between two counts.
	usageTime = 50 * time.Millisecond
)

// watcher looks at a running sandbox for the limits that nothing else keeps.
type watcher struct {
	run      *run
	before   used // what the workspace held
	tree     *tree
	memories []*os.File // folders in memory
	cpuBegan time.Duration
	next     time.Time // when the workspace is counted again
	quit     chan struct{}
	done     chan struct{}
	e        evidence
}

// watch starts looking.
func (r *run) watch(before used) *watcher {
	w := &watcher{run: r, before: before, quit: make(chan struct{}), done: make(chan struct{})}
	w.cpuBegan = r.cgroup.cpuTime()
	w.enter()
	go w.loop()
	return w
}

// enter opens what is looked at inside. It stays open when the sandbox dies.
func (w *watcher) enter() {
	root := "/proc/" + strconv.Itoa(w.run.pid) + "/root"
	folders := []string{"/tmp", "/dev/shm"}
	if w.run.spec.Workspace == "" {
		folders = append(folders, "/workspace")
	}
	for _, name := range folders {
		if f, err := os.Open(root + name); err == nil {
			w.memories = append(w.memories, f)
		}
	}
	groups := w.run.driver.cgroups
	if groups.memory == nil || groups.pids == nil || groups.cpu == nil {
		w.tree = openTree(root + "/proc")
	}
	if !w.run.alive() {
		// Its id may have been somebody else's by then.
		w.leave()
	}
}

func (w *watcher) leave() {
	for _, f := range w.memories {
		_ = f.Close()
	}
	w.memories = nil
	if w.tree != nil {
		w.tree.close()
		w.tree = nil
	}
}

// alive says whether the first process of the sandbox still runs.
func (r *run) alive() bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(r.pidfd.Fd()), Events: unix.POLLIN}}, 0)
	return n == 0 && err == nil
}

func (w *watcher) loop() {
	defer close(w.done)
	every := lookTime
	if w.tree != nil {
		every = pollTime
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-tick.C:
			w.look()
		}
	}
}

// stop ends looking, once the sandbox is dead, and returns what was seen.
func (w *watcher) stop() evidence {
	close(w.quit)
	<-w.done
	w.lookCgroup()
	w.lookMemories()
	w.lookWorkspace(true)
	w.leave()
	if rusage, ok := w.run.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && w.run.cgroup.cpu == "" {
		w.e.cpu = max(w.e.cpu, time.Duration(rusage.Utime.Nano()+rusage.Stime.Nano()))
	}
	return w.e
}

func (w *watcher) look() {
	w.lookCgroup()
	w.lookTree()
	w.lookMemories()
	w.lookWorkspace(false)
	if limit := w.run.spec.Limits.CPU; w.e.cpu > limit {
		w.run.end(StatusTimeoutCPU, fmt.Sprintf("it used more than %v of CPU time", limit))
	}
}

// lookCgroup reads the counters of the cgroup.
func (w *watcher) lookCgroup() {
	g := w.run.cgroup
	if g.cpu != "" {
		w.e.cpu = max(w.e.cpu, g.cpuTime()-w.cpuBegan)
	}
	if g.memory != "" {
		w.e.maxMemory = max(w.e.maxMemory, g.maxMemory())
		if w.e.oomKills = g.oomKills(); w.e.oomKills > 0 {
			w.outOfMemory()
		}
	}
	if g.pids != "" && g.pidsDenied() > 0 {
		w.e.pidsDenied = true
	}
}

func (w *watcher) outOfMemory() {
	w.run.end(StatusOOM, fmt.Sprintf("it used more than %s of memory", byteWords(w.run.spec.Limits.MemoryBytes)))
}

// lookTree measures the processes one by one.
func (w *watcher) lookTree() {
	if w.tree == nil {
		return
	}
	l := w.run.spec.Limits
	m := w.tree.measure()
	if w.run.cgroup.cpu == "" {
		w.e.cpu = max(w.e.cpu, m.cpu)
	}
	// The first process is bubblewrap's.
	if w.run.cgroup.pids == "" && m.tasks-1 >= l.Pids {
		w.e.pidsDenied = true
	}
	if w.run.cgroup.memory != "" {
		return
	}
	files := w.inMemory()
	total := m.memory + files
	if total > l.MemoryBytes {
		// Pages that processes share were counted more than once.
		total = w.tree.shares() + files
	}
	w.e.maxMemory = max(w.e.maxMemory, total)
	if total > l.MemoryBytes {
		w.outOfMemory()
	}
}

// inMemory is the size of the files in memory.
func (w *watcher) inMemory() int64 {
	var bytes int64
	for _, f := range w.memories {
		var s unix.Statfs_t
		if unix.Fstatfs(int(f.Fd()), &s) == nil {
			bytes += int64(s.Blocks-s.Bfree) * int64(s.Bsize)
		}
	}
	return bytes
}

// lookMemories looks at the folders in memory.
func (w *watcher) lookMemories() {
	limit := w.run.spec.Limits.Files
	for _, f := range w.memories {
		var s unix.Statfs_t
		if unix.Fstatfs(int(f.Fd()), &s) != nil {
			continue
		}
		if s.Bfree == 0 {
			w.e.tmpFull = true
		}
		if int64(s.Files-s.Ffree) > int64(limit)+1 {
			w.run.end(StatusDiskLimit, fmt.Sprintf("it made more than %d files and folders", limit))
		}
	}
}

// lookWorkspace counts the files of a workspace on the host.
func (w *watcher) lookWorkspace(last bool) {
	began := time.Now()
	if w.run.spec.Workspace == "" || !last && began.Before(w.next) {
		return
	}
	l := w.run.spec.Limits
	now := usage(w.run.spec.Workspace, w.before.files+l.Files)
	switch {
	case now.deep:
		w.e.grown = fmt.Sprintf("it made folders more than %d deep", maxDepth)
	case now.bytes-w.before.bytes > l.FileBytes:
		w.e.grown = fmt.Sprintf("its workspace grew by more than %s", byteWords(l.FileBytes))
	case now.files-w.before.files > l.Files:
		w.e.grown = fmt.Sprintf("it made more than %d files and folders", l.Files)
	default:
		w.e.grown = ""
	}
	if w.e.grown != "" {
		w.run.end(StatusDiskLimit, w.e.grown)
	}
	w.next = time.Now().Add(max(usageTime, 20*time.Since(began)))
}
