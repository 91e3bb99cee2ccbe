package isolate

import (
	"strings"
	"testing"
	"time"
)

func TestHowAProgramEnded(t *testing.T) {
	wall := &verdict{StatusTimeoutWall, "it ran longer than 30s"}
	output := &verdict{StatusOutputLimit, "it wrote more"}
	for _, test := range []struct {
		name string
		evidence
		status string
		code   int
		detail string
	}{
		{"by itself", evidence{exited: true}, StatusOK, 0, ""},
		{"with an error", evidence{exited: true, code: 3}, StatusNonzeroExit, 3, ""},
		{"with the largest code", evidence{exited: true, code: 255}, StatusNonzeroExit, 255, ""},
		{"by a signal", evidence{exited: true, code: 139}, StatusSignaled, 139, ""},
		{"by its time", evidence{ended: wall}, StatusTimeoutWall, 137, "30s"},
		{"by its time, as bubblewrap tells", evidence{ended: wall, exited: true, code: 137}, StatusTimeoutWall, 137, "30s"},
		{"by itself as its time was over", evidence{ended: wall, exited: true}, StatusOK, 0, ""},
		{"by its time, while it wanted processes", evidence{ended: wall, pidsDenied: true}, StatusTimeoutWall, 137, "64 processes"},
		{"by itself, having written too much", evidence{ended: output, exited: true}, StatusOutputLimit, 137, "more"},
		{"for want of memory", evidence{exited: true, code: 137, oomKills: 1}, StatusOOM, 137, "512 MiB of memory"},
		{"well, though a child had not enough memory", evidence{exited: true, oomKills: 1}, StatusOK, 0, ""},
		{"for want of processes", evidence{exited: true, code: 1, pidsDenied: true}, StatusPidsLimit, 1, "64 processes"},
		{"well, with fewer processes than it wanted", evidence{exited: true, pidsDenied: true}, StatusOK, 0, ""},
		{"by a system call", evidence{exited: true, code: 159}, StatusDeniedSyscall, 159, "system call"},
		{"by a file that is too large", evidence{exited: true, code: 153}, StatusDiskLimit, 153, "a file of more than"},
		{"by the kernel's CPU limit", evidence{exited: true, code: 152}, StatusTimeoutCPU, 152, "CPU time"},
		{"for want of room", evidence{exited: true, code: 1, tmpFull: true}, StatusDiskLimit, 1, "was full"},
		{"well, in a workspace that is too large", evidence{exited: true, grown: "it grew"}, StatusDiskLimit, 0, "it grew"},
	} {
		v, code := test.decide(DefaultLimits())
		if v.status != test.status || code != test.code || !strings.Contains(v.detail, test.detail) || test.detail == "" && v.detail != "" {
			t.Errorf("%s: %+v, exit code %d; want %s, %d, %q", test.name, v, code, test.status, test.code, test.detail)
		}
	}
}

func TestLimitsThatAreZeroAreFilled(t *testing.T) {
	if got := (Limits{}).filled(); got != DefaultLimits() {
		t.Errorf("%+v", got)
	}
	want := Limits{Wall: time.Second, CPU: 1, MemoryBytes: 2, TmpBytes: 3, FileBytes: 4, Files: 5, Pids: 6, OpenFiles: 7, OutputBytes: 8}
	if got := want.filled(); got != want {
		t.Errorf("%+v", got)
	}
}
