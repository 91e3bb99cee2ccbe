package isolate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// deathTime is how long the kernel may take to end what was killed.
const deathTime = 10 * time.Second

// run is one program in its sandbox.
type run struct {
	driver *bubblewrap
	spec   Spec

	cgroup *cgroup
	ends   ends
	cmd    *exec.Cmd     // bubblewrap
	outer  chan struct{} // closed when bubblewrap has ended
	first  chan int      // the id of the first process in the sandbox
	told   chan struct{} // closed when bubblewrap has nothing more to tell
	pid    int

	mu    sync.Mutex
	pidfd *os.File // the first process; nil before and after

	exited   atomic.Bool
	exitCode atomic.Int64

	output     atomic.Int64 // bytes of both streams
	stderrHead head

	kill   sync.Once
	killed chan struct{} // closed when the sandbox was ended by us
	reason verdict       // why; read after killed
}

// verdict is why a sandbox was ended.
type verdict struct{ status, detail string }

// end ends everything in the sandbox. The first reason counts.
func (r *run) end(status, detail string) {
	r.kill.Do(func() {
		r.reason = verdict{status, detail}
		close(r.killed)
		r.signal()
	})
}

// signal kills the first process of the sandbox, and with it all others.
func (r *run) signal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pidfd != nil {
		_ = unix.PidfdSendSignal(int(r.pidfd.Fd()), unix.SIGKILL, nil, 0)
	}
}

// do runs the program. The thread is kept: the kernel ends bubblewrap when the
// thread that started it ends, which is how sandboxes die with this process.
func (r *run) do(ctx context.Context) (Result, error) {
	if ctx.Err() != nil {
		return Result{Status: StatusCancelled, Detail: "it was cancelled before it had started"}, nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := time.Now()
	var err error
	if r.cgroup, err = r.driver.cgroups.open(r.spec.Limits); err != nil {
		return Result{}, fmt.Errorf("making a cgroup: %w", err)
	}
	base := usage(r.spec.Workspace, math.MaxInt)
	r.first, r.told = make(chan int, 1), make(chan struct{})
	err = r.launch()
	if r.cmd == nil || r.cmd.Process == nil {
		r.ends.close()
		r.cgroup.close()
		return Result{}, err
	}
	out := r.pump()
	go r.readStatus()
	if err == nil {
		err = r.open()
	}
	if err != nil {
		return Result{}, r.abandon(out, err)
	}

	res := Result{Start: time.Since(began)}
	started := time.Now()
	if r.spec.Started != nil {
		r.spec.Started(Start{Took: res.Start})
	}
	w := r.watch(base)
	r.wait(ctx)
	res.Wall = time.Since(started)
	gone := r.bury()
	out.finish(gone)
	if !gone {
		_ = r.ends.status.SetReadDeadline(time.Now())
	}
	<-r.told
	e := w.stop()
	r.ends.close()
	removed := r.cgroup.close()
	if !gone || !removed {
		return Result{}, fmt.Errorf("the processes of a sandbox could not be ended within %v", deathTime)
	}
	return r.conclude(res, e)
}

// wait waits for the program's end and ends it when its time is over.
func (r *run) wait(ctx context.Context) {
	wall := time.NewTimer(r.spec.Limits.Wall)
	defer wall.Stop()
	for {
		select {
		case <-r.outer:
			return
		case <-r.killed:
			// Bubblewrap ends by itself when its child has.
			select {
			case <-r.outer:
			case <-time.After(2 * time.Second):
				_ = r.cmd.Process.Kill()
				<-r.outer
			}
			return
		case <-wall.C:
			r.end(StatusTimeoutWall, fmt.Sprintf("it ran longer than %v", r.spec.Limits.Wall))
		case <-ctx.Done():
			r.end(StatusCancelled, "it was cancelled")
		case <-r.driver.ending:
			r.end(StatusCancelled, "the sandbox was closed")
		}
	}
}

// bury ends what the program has left behind and waits until it is gone.
func (r *run) bury() bool {
	r.signal()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		_ = r.pidfd.Close()
		r.pidfd = nil
	}()
	fd := int(r.pidfd.Fd())
	deadline := time.Now().Add(deathTime)
	for time.Now().Before(deadline) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
		if n > 0 {
			// Where nobody else is, this process inherits it: as the first of a
			// container.
			_ = unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil)
			return true
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
	}
	return false
}

// abandon ends a sandbox that could not be made and says why.
func (r *run) abandon(out *pumps, err error) error {
	if r.pidfd != nil {
		r.bury()
	}
	_ = r.cmd.Process.Kill()
	<-r.outer
	out.finish(true)
	r.ends.close()
	r.cgroup.close()
	return fmt.Errorf("%w%s", err, r.complaint())
}

// conclude tells how the program ended.
func (r *run) conclude(res Result, e evidence) (Result, error) {
	select {
	case <-r.killed:
		e.ended = &r.reason
	default:
	}
	e.exited, e.code = r.exited.Load(), int(r.exitCode.Load())
	if !e.exited && e.ended == nil {
		if e.oomKills == 0 {
			return Result{}, fmt.Errorf("%s was not started%s", r.spec.Argv[0], r.complaint())
		}
		e.code = 128 + int(unix.SIGKILL) // bubblewrap itself was ended with the rest
	}
	v, code := e.decide(r.spec.Limits)
	res.Status, res.Detail, res.ExitCode = v.status, v.detail, code
	if code > 128 && code <= 128+64 && v.status != StatusNonzeroExit {
		res.Signal = unix.SignalName(unix.Signal(code - 128))
	}
	res.CPU, res.MaxMemoryBytes = e.cpu, e.maxMemory
	res.Enforcement = r.driver.enforcement()
	return res, nil
}

// complaint is what bubblewrap said on its standard error.
func (r *run) complaint() string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(r.stderrHead.String(), "\uFFFD")), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}
