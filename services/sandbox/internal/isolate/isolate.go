// Package isolate runs a program in a sandbox that is made for it and is gone
// when it has ended: namespaces of its own, a read-only root, no network, no
// capabilities, few system calls, and limits on all that it could use up.
//
// What a machine cannot give is said by [Driver.Probe]; where something that
// the configuration requires is missing, [Driver.Run] refuses with
// [*Unavailable] and no program is started.
package isolate

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"
)

// Driver makes sandboxes. Its methods may be called from many goroutines.
type Driver interface {
	// Run runs one program to its end and leaves nothing behind: no process, no
	// folder, no mount. An error means that the sandbox failed and says nothing
	// of the program; it is of type *Unavailable where something that is
	// required is missing. A program that was ended because ctx was is no error:
	// its status is cancelled.
	Run(ctx context.Context, s Spec) (Result, error)
	// Probe tries what isolation this machine gives, by running programs through
	// the same path as Run. What it finds decides whether Run refuses. The first
	// Run probes by itself.
	Probe(ctx context.Context) Capabilities
	// Close ends the sandboxes that run and removes what the driver holds.
	Close() error
}

// Spec is one program to run.
type Spec struct {
	// Argv is the program, by its absolute path in the sandbox or a name that
	// is looked up in /usr/bin and /bin, and its arguments.
	Argv []string
	// Env is its whole environment, as KEY=value. PATH, HOME, LANG and TMPDIR
	// are set unless it names them.
	Env []string
	// Workspace is the host folder that is writable at /workspace, the current
	// folder; empty: a folder in memory of TmpBytes that is gone afterwards.
	Workspace string
	// ReadOnly are host folders that can be read at the same path. Those that a
	// sandbox has of its own are refused, and /run, whose sockets could be used.
	ReadOnly []string
	// Files are read-only files in /run/nanoclaw by their names, for example
	// main.py.
	Files map[string][]byte
	// Stdin is what the program reads; nil: nothing. It need not be read to its
	// end, and a Read that blocks holds up nothing but itself.
	Stdin io.Reader
	// Stdout and Stderr take what the program writes, each from one goroutine
	// at a time and never after Run has returned; nil: thrown away. A Write
	// that blocks holds up the program, not its limits, and the return of Run:
	// it must end when the context of Run does, or Ended is called. One that fails is not called
	// again.
	Stdout, Stderr io.Writer
	// Started is called once, when the sandbox was made and the program starts;
	// nil: nobody.
	Started func(Start)
	// Ended is called once, when the program and all that it started are dead:
	// what is written after it was in the pipes already, and a Write must not
	// block any more. nil: nobody.
	Ended func()
	// Limits are what it may use.
	Limits Limits
}

// Start tells of a sandbox that was made.
type Start struct {
	// Took is the time to make it.
	Took time.Duration
}

// Limits are what one program and all that it starts may use together. A zero
// is the value of [DefaultLimits].
type Limits struct {
	// Wall is the time on the clock; CPU the time on processors.
	Wall, CPU time.Duration
	// MemoryBytes is the memory in use, with files kept in memory.
	MemoryBytes int64
	// TmpBytes is the size of /tmp, and of /workspace where no host folder is
	// there.
	TmpBytes int64
	// FileBytes is the size of one file, and what a workspace on the host may
	// grow by.
	FileBytes int64
	// Files is how many files and folders /tmp may hold, and a workspace on the
	// host may gain.
	Files int
	// Pids is how many processes and threads there may be.
	Pids int
	// OpenFiles is how many files a process may have open.
	OpenFiles int
	// OutputBytes is what may be written to both streams together; one byte
	// more ends the program.
	OutputBytes int64
}

// DefaultLimits are used for limits that are zero.
func DefaultLimits() Limits {
	return Limits{
		Wall:        30 * time.Second,
		CPU:         30 * time.Second,
		MemoryBytes: 512 << 20,
		TmpBytes:    64 << 20,
		FileBytes:   256 << 20,
		Files:       10_000,
		Pids:        64,
		OpenFiles:   256,
		OutputBytes: 64 << 20,
	}
}

// The words of [Result.Status].
const (
	StatusOK            = "ok"             // it ended with exit code 0
	StatusNonzeroExit   = "nonzero_exit"   // it ended with another one
	StatusSignaled      = "signaled"       // a signal ended it
	StatusTimeoutWall   = "timeout_wall"   // Limits.Wall was over
	StatusTimeoutCPU    = "timeout_cpu"    // Limits.CPU was used
	StatusOOM           = "oom"            // it used more than Limits.MemoryBytes
	StatusPidsLimit     = "pids_limit"     // it failed after more than Limits.Pids were wanted
	StatusOutputLimit   = "output_limit"   // it wrote more than Limits.OutputBytes
	StatusDiskLimit     = "disk_limit"     // its files outgrew Limits.FileBytes or Limits.Files
	StatusDeniedSyscall = "denied_syscall" // a system call that is never allowed ended it
	StatusCancelled     = "cancelled"      // the context of Run ended
)

// Result is how a program ended.
type Result struct {
	// Status is one of the words above.
	Status string
	// ExitCode is its exit code; 128 and the number of the signal for one that
	// was killed.
	ExitCode int
	// Signal is the signal that ended it, for example SIGKILL.
	Signal string
	// Wall is the time from the start of the program to its end, CPU what it
	// and all that it started used, Start the time to make the sandbox.
	Wall, CPU, Start time.Duration
	// MaxMemoryBytes is the most memory in use at a time; 0 when not known.
	MaxMemoryBytes int64
	// Enforcement says how each limit was kept, for example memory: cgroup.
	Enforcement map[string]string
	// Detail says in words which limit ended the program and what it was;
	// empty for a program that ended by itself.
	Detail string
}

// Capabilities are what isolation a machine gives.
type Capabilities struct {
	// Driver and Version name what makes the sandboxes.
	Driver, Version string
	// Checks are what was looked at, in order.
	Checks []Check
	// Enforcement says how each limit is kept.
	Enforcement map[string]string
	// Languages are the languages that can be run in a sandbox here, each with
	// its version: python, javascript, bash.
	Languages map[string]string
}

// Check is one thing that isolation needs, as it was found.
type Check struct {
	// Name is for example user_namespace.
	Name string
	// OK: it is there. Required: the configuration asks for it.
	OK, Required bool
	// Detail is what was found, Fix how to put it right.
	Detail, Fix string
}

// Missing are the checks that are required and failed.
func (c Capabilities) Missing() []Check {
	var missing []Check
	for _, k := range c.Checks {
		if k.Required && !k.OK {
			missing = append(missing, k)
		}
	}
	return missing
}

// Available says whether programs can be run.
func (c Capabilities) Available() bool { return len(c.Missing()) == 0 }

// ErrSpec is wrapped by the error of a Run that was asked for something that
// cannot be run: no program, an argument that is too long, a relative folder.
var ErrSpec = errors.New("not a program that can be run")

// ErrClosed is the error of a Run after Close.
var ErrClosed = errors.New("the sandbox is closed")

// Unavailable is the error of a Run where something required is missing. No
// program was started.
type Unavailable struct {
	Missing []Check
}

// Names are the names of what is missing.
func (u *Unavailable) Names() []string {
	names := make([]string, len(u.Missing))
	for i, k := range u.Missing {
		names[i] = k.Name
	}
	return names
}

func (u *Unavailable) Error() string {
	var b strings.Builder
	b.WriteString("no program can be run in a sandbox on this machine")
	for i, k := range u.Missing {
		if i == 0 {
			b.WriteString(": ")
		} else {
			b.WriteString("; ")
		}
		b.WriteString(k.Name + ": " + k.Detail)
		if k.Fix != "" {
			b.WriteString(" (" + k.Fix + ")")
		}
	}
	return b.String()
}

// Config configures a driver.
type Config struct {
	// Require are the things without which nothing is run: fs, net, pid, user,
	// seccomp, memory, pids. Empty: all of them.
	Require []string
	// MemoryPoll accepts that memory is measured every 10 milliseconds where no
	// cgroup can limit it.
	MemoryPoll bool
	// Path is the bubblewrap program; empty: bwrap of PATH.
	Path string
}
