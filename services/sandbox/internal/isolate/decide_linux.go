package isolate

import (
	"fmt"
	"syscall"
	"time"
)

// evidence is what is known of a program that has ended.
type evidence struct {
	ended  *verdict // it was ended by us, for this reason
	exited bool     // bubblewrap told of an exit code
	code   int

	cpu        time.Duration
	maxMemory  int64
	oomKills   int64
	pidsDenied bool // a process or thread more than allowed was wanted
	tmpFull    bool // a folder in memory was full
	grown      string
}

// Signals that say which limit of the kernel a program ran into.
const (
	codeSIGSYS  = 128 + int(syscall.SIGSYS)
	codeSIGXFSZ = 128 + int(syscall.SIGXFSZ)
	codeSIGXCPU = 128 + int(syscall.SIGXCPU)
	codeSIGKILL = 128 + int(syscall.SIGKILL)
)

// decide says how a program ended. An exit code over 128 is taken for a signal,
// as shells do: a program that exits with such a code by itself looks the same.
func (e evidence) decide(l Limits) (verdict, int) {
	code := e.code
	if e.ended != nil {
		byItself := e.exited && code != codeSIGKILL
		if !byItself || e.ended.status == StatusOutputLimit || e.ended.status == StatusDiskLimit {
			return e.withPids(*e.ended, l), codeSIGKILL
		}
		// It had ended before it could be.
	}
	if e.grown != "" {
		return verdict{StatusDiskLimit, e.grown}, code
	}
	switch {
	case code == 0:
		return verdict{StatusOK, ""}, 0
	case e.oomKills > 0:
		return verdict{StatusOOM, fmt.Sprintf("it used more than %s of memory", byteWords(l.MemoryBytes))}, code
	case code == codeSIGSYS:
		return verdict{StatusDeniedSyscall, "it made a system call that is never allowed in a sandbox"}, code
	case code == codeSIGXFSZ:
		return verdict{StatusDiskLimit, fmt.Sprintf("it wrote a file of more than %s", byteWords(l.FileBytes))}, code
	case code == codeSIGXCPU:
		return verdict{StatusTimeoutCPU, fmt.Sprintf("it used more than %v of CPU time", l.CPU)}, code
	case e.pidsDenied:
		return verdict{StatusPidsLimit, pidsDetail(l)}, code
	case e.tmpFull:
		return verdict{StatusDiskLimit, fmt.Sprintf("a folder in memory was full: %s", byteWords(l.TmpBytes))}, code
	case code > 128 && code <= 128+64:
		return verdict{StatusSignaled, ""}, code
	}
	return verdict{StatusNonzeroExit, ""}, code
}

// withPids tells of wanted processes beside another limit: a program that makes
// them without end runs into that one first.
func (e evidence) withPids(v verdict, l Limits) verdict {
	if e.pidsDenied && (v.status == StatusTimeoutWall || v.status == StatusTimeoutCPU) {
		v.detail += "; " + pidsDetail(l)
	}
	return v
}

func pidsDetail(l Limits) string {
	return fmt.Sprintf("it wanted more than %d processes and threads", l.Pids)
}
