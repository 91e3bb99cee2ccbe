package isolate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// processPrefix begins the name that bubblewrap runs under, which tells whose
// sandbox it is: the id of a process and when that one was started.
const processPrefix = "nanoclaw-sandbox-of-"

// processName is the name of sandboxes of this process.
func processName() string {
	return fmt.Sprintf("%s%d-%s", processPrefix, os.Getpid(), startOf(os.Getpid()))
}

// startOf is when a process was started, in ticks since the machine was; empty
// when there is no such process.
func startOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 {
		return ""
	}
	return f[22-3]
}

// sweepProcesses ends sandboxes whose service has ended. The kernel does so
// itself, but for those whose first process had not yet asked for it when the
// service was killed.
func sweepProcesses() {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			continue
		}
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Geteuid() {
			continue
		}
		b, err := os.ReadFile(f)
		name, _, _ := strings.Cut(string(b), "\x00")
		owner, ours := strings.CutPrefix(name, processPrefix)
		if err != nil || !ours {
			continue
		}
		id, start, _ := strings.Cut(owner, "-")
		pid, err := strconv.Atoi(id)
		if err != nil || startOf(pid) == start {
			continue
		}
		if left, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			_ = unix.Kill(left, unix.SIGKILL)
		}
	}
}
