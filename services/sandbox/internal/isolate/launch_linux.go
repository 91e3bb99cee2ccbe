package isolate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setupTime is how long bubblewrap may take to make a sandbox. It takes
// milliseconds; a machine that is short of processors takes longer.
const setupTime = 30 * time.Second

// ends are our ends of the pipes to a sandbox that is being made.
type ends struct {
	args, gate, status    *os.File
	stdin, stdout, stderr *os.File
}

func (e *ends) close() {
	for _, f := range []*os.File{e.args, e.gate, e.status, e.stdin, e.stdout, e.stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// parcel is what bubblewrap inherits: files by number, closed on our side once
// it was started.
type parcel struct {
	files []*os.File
	err   error
}

// add passes a file on and returns its number there; 0, 1 and 2 are the
// standard ones.
func (p *parcel) add(f *os.File, err error) int {
	p.err = errors.Join(p.err, err)
	if f != nil {
		p.files = append(p.files, f)
	}
	return len(p.files) + 2
}

// data passes bytes on as a file in memory.
func (p *parcel) data(b []byte) int { return p.add(memoryFile(b)) }

func (p *parcel) close() {
	for _, f := range p.files {
		_ = f.Close()
	}
}

func memoryFile(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	if _, err = f.Write(b); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("writing a file in memory: %w", err)
	}
	return f, nil
}

// gate is a pipe that holds one message. Once the first was taken there is room
// for a second: the moment at which bubblewrap has made the sandbox and starts
// the program.
func gate() (r, w *os.File, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_DIRECT); err != nil {
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	if err := unix.SetNonblock(p[1], true); err != nil {
		return nil, nil, err
	}
	r, w = os.NewFile(uintptr(p[0]), "gate"), os.NewFile(uintptr(p[1]), "gate")
	if _, err := unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil {
		_, _ = r.Close(), w.Close()
		return nil, nil, fmt.Errorf("making a pipe smaller: %w", err)
	}
	return r, w, nil
}

// launch starts bubblewrap and makes it wait for its options, until it is in
// its cgroup.
func (r *run) launch() error {
	p := &parcel{}
	defer p.close()
	e := &r.ends
	std := make([]*os.File, 3)
	defer func() {
		for _, f := range std {
			if f != nil {
				_ = f.Close()
			}
		}
	}()
	var err [6]error
	if r.spec.Stdin != nil {
		std[0], e.stdin, err[0] = os.Pipe()
	} else {
		std[0], err[0] = os.Open(os.DevNull)
	}
	e.stdout, std[1], err[1] = os.Pipe()
	e.stderr, std[2], err[2] = os.Pipe()
	var argsEnd, statusEnd, gateEnd *os.File
	argsEnd, e.args, err[3] = os.Pipe()
	e.status, statusEnd, err[4] = os.Pipe()
	gateEnd, e.gate, err[5] = gate()

	d := descriptors{files: map[string]int{}}
	d.args = p.add(argsEnd, err[3])
	d.status = p.add(statusEnd, err[4])
	d.gate = p.add(gateEnd, err[5])
	for path, text := range etcFiles {
		d.files[path] = p.data([]byte(text))
	}
	for name, text := range r.spec.Files {
		d.files["/run/nanoclaw/"+name] = p.data(text)
	}
	if len(r.driver.filter) > 0 {
		d.seccomp = p.data(r.driver.filter)
	}
	if err := errors.Join(err[0], err[1], err[2], p.err); err != nil {
		return err
	}

	program, image, fail := r.driver.executable()
	if fail != nil {
		return fail
	}
	if image != nil {
		defer func() { _ = image.Close() }()
	}

	// What this process was given itself is not for programs in a sandbox.
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	argv := append([]string{"--args", fmt.Sprint(d.args), "--"}, r.spec.Argv...)
	r.cmd = &exec.Cmd{Path: program, Args: append([]string{r.driver.name}, argv...)}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = std[0], std[1], std[2]
	r.cmd.ExtraFiles = p.files
	r.cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"} // is seen in the sandbox as that of process 1
	r.cmd.Dir = "/"
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", r.driver.path, err)
	}
	r.outer = make(chan struct{})
	go func() {
		_ = r.cmd.Wait()
		close(r.outer)
	}()

	pid := r.cmd.Process.Pid
	if err := r.cgroup.add(pid); err != nil {
		return fmt.Errorf("putting the sandbox into its cgroup: %w", err)
	}
	// When the machine runs out of memory, what runs in a sandbox goes first.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)
	view := append(append([]string{}, r.driver.view...), r.driver.proc...)
	all := options(r.spec, view, d)
	_ = e.args.SetDeadline(time.Now().Add(setupTime))
	if _, err := io.WriteString(e.args, strings.Join(all, "\x00")+"\x00"); err != nil {
		return fmt.Errorf("telling bubblewrap its options: %w", err)
	}
	return e.args.Close()
}

// status is what bubblewrap tells of a sandbox, in pieces.
type status struct {
	ChildPID int  `json:"child-pid"`
	ExitCode *int `json:"exit-code"`
}

// readStatus reads what bubblewrap tells until it ends: first the id of the
// first process, last how the program ended, which is missing for one that was
// never started.
func (r *run) readStatus() {
	defer close(r.told)
	d := json.NewDecoder(r.ends.status)
	for {
		var s status
		if err := d.Decode(&s); err != nil {
			return
		}
		if s.ChildPID != 0 {
			r.first <- s.ChildPID
		}
		if s.ExitCode != nil {
			r.exitCode.Store(int64(*s.ExitCode))
			r.exited.Store(true)
		}
	}
}

// open waits until the sandbox is made, sets the limits of its processes and
// lets the program start.
func (r *run) open() error {
	select {
	case r.pid = <-r.first:
	case <-r.told:
		return errors.New("bubblewrap ended before it had made the sandbox")
	case <-time.After(setupTime):
		return fmt.Errorf("bubblewrap has not made the sandbox within %v", setupTime)
	}
	fd, err := unix.PidfdOpen(r.pid, 0)
	if err != nil {
		return fmt.Errorf("finding the sandbox: %w", err)
	}
	r.mu.Lock()
	r.pidfd = os.NewFile(uintptr(fd), "sandbox")
	r.mu.Unlock()
	if err := r.setLimits(); err != nil {
		return fmt.Errorf("setting the limits of the sandbox: %w", err)
	}
	_ = r.ends.gate.SetDeadline(time.Now().Add(setupTime))
	for range 2 {
		// The second fails when the reader has gone on and closed its end.
		if _, err := r.ends.gate.Write([]byte{1}); err != nil && !errors.Is(err, unix.EPIPE) {
			return fmt.Errorf("waiting for the sandbox: %w", err)
		}
	}
	return nil
}

// setLimits sets limits on the first process of the sandbox, from which the
// others inherit them. The number of processes is counted in the sandbox's own
// user namespace, so that sandboxes of one user do not disturb each other.
func (r *run) setLimits() error {
	l := r.spec.Limits
	cpu := uint64(l.CPU/time.Second) + 2
	limits := map[int][2]uint64{
		// With 0 a dump is still passed to a program of the host where
		// core_pattern names one; 1 is the value for none at all (core(5)).
		unix.RLIMIT_CORE:     {1, 1},
		unix.RLIMIT_NOFILE:   {uint64(max(l.OpenFiles, 64)), uint64(max(l.OpenFiles, 64))},
		unix.RLIMIT_FSIZE:    {uint64(l.FileBytes), uint64(l.FileBytes)},
		unix.RLIMIT_CPU:      {cpu, cpu + 1},
		unix.RLIMIT_MEMLOCK:  {64 << 10, 64 << 10},
		unix.RLIMIT_MSGQUEUE: {0, 0},
		unix.RLIMIT_NICE:     {0, 0},
		unix.RLIMIT_RTPRIO:   {0, 0},
	}
	if r.driver.cgroups.pids == nil {
		// One is the first process, which is bubblewrap's.
		limits[unix.RLIMIT_NPROC] = [2]uint64{uint64(l.Pids + 1), uint64(l.Pids + 1)}
	}
	if r.driver.cgroups.memory == nil {
		// What is measured every few milliseconds cannot grow without end
		// between two looks.
		limits[unix.RLIMIT_DATA] = [2]uint64{2 * uint64(l.MemoryBytes), 2 * uint64(l.MemoryBytes)}
	}
	for which, v := range limits {
		var old unix.Rlimit
		if err := unix.Prlimit(r.pid, which, nil, &old); err != nil {
			return err
		}
		set := unix.Rlimit{Cur: min(v[0], old.Max), Max: min(v[1], old.Max)}
		if err := unix.Prlimit(r.pid, which, &set, nil); err != nil {
			return err
		}
	}
	return nil
}
