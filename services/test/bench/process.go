package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	readyTime = 60 * time.Second // in which a process must be ready
	stopTime  = 15 * time.Second // in which it must end when asked to
	// clockTick is the unit of times in /proc/<pid>/stat: USER_HZ, which is 100
	// on every architecture that Go knows (proc_pid_stat(5)).
	clockTick = time.Second / 100
)

// process is a program that has printed its first line.
type process struct {
	// ready is that line.
	ready string

	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *bufio.Reader
	stderr bytes.Buffer // read only after the process has ended
	exited chan struct{}
	err    error
}

// launch starts a program and waits until it has printed a line.
func launch(ctx context.Context, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), exited: make(chan struct{})}
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe() // never written to: its end tells a role to end
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	// A pipe of ours, since Wait would close one of its own before it is read.
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = in
	err = p.cmd.Start()
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	p.stdout = bufio.NewReader(out)
	line := make(chan string, 1)
	go func() {
		text, _ := p.stdout.ReadString('\n')
		line <- strings.TrimSpace(text)
	}()
	late := time.NewTimer(readyTime)
	defer late.Stop()
	select {
	case p.ready = <-line:
	case <-late.C:
		err = fmt.Errorf("not ready within %s", readyTime)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if p.ready == "" {
		p.kill()
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), errors.Join(err, p.failure()))
	}
	return p, nil
}

// role starts this program again.
func role(ctx context.Context, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return launch(ctx, self, args...)
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// failure is why an ended process ended, with its own words.
func (p *process) failure() error {
	<-p.exited
	if p.err == nil && p.stderr.Len() == 0 {
		return errors.New("it ended too early")
	}
	return fmt.Errorf("%w: %s", p.err, bytes.TrimSpace(p.stderr.Bytes()))
}

// stop asks a process to end, makes it end if it does not, and waits for it.
func (p *process) stop() {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	late := time.NewTimer(stopTime)
	defer late.Stop()
	select {
	case <-p.exited:
	case <-late.C:
		p.kill()
	}
}

// usage is what a process has used so far.
type usage struct {
	cpu    time.Duration // user and system
	waited time.Duration // ready to run and without a CPU, all threads together
	rss    int64         // bytes in memory now
}

// usage reads /proc.
func (p *process) usage() (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return usage{}, err
	}
	// The name in brackets may hold anything; fields are counted after it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const utime, stime, rss = 11, 12, 21 // 14, 15 and 24 in proc_pid_stat(5)
	if len(fields) <= rss {
		return usage{}, fmt.Errorf("/proc/%d/stat is not understood: %s", p.cmd.Process.Pid, stat)
	}
	var n [3]int64
	for i, at := range []int{utime, stime, rss} {
		if n[i], err = strconv.ParseInt(fields[at], 10, 64); err != nil {
			return usage{}, fmt.Errorf("/proc/%d/stat: %w", p.cmd.Process.Pid, err)
		}
	}
	waited, err := p.waited()
	return usage{cpu: time.Duration(n[0]+n[1]) * clockTick, waited: waited, rss: n[2] * int64(os.Getpagesize())}, err
}

// waited sums up what the kernel's scheduler says of the threads; one that has
// ended is forgotten, which Go's rarely do. A kernel that does not say makes 0.
func (p *process) waited() (sum time.Duration, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var ran, waited time.Duration
		if err != nil {
			return 0, err
		}
		if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += waited
	}
	return sum, err
}

// ownCPU is the CPU time of this process so far.
func ownCPU() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, err
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}
