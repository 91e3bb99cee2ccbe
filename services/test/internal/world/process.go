package world

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	osexec "os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// readyTime is how long a process may take to say that it is ready.
const readyTime = 60 * time.Second

// Process is a program that said that it is ready.
type Process struct {
	// Client speaks REST with a suite that Serve started.
	*Client
	Pid int
	// Ready is the line that it printed.
	Ready string

	cmd    *osexec.Cmd
	stderr *lockedBuffer
	exited chan struct{}
	err    error
}

var address = regexp.MustCompile(`https?://\S+`)

// Serve starts the binary with a configuration file and returns when it is
// ready. It is killed with the test, if it still runs.
func Serve(t testing.TB, binary, configFile string) *Process {
	t.Helper()
	p, err := Launch(t, osexec.Command(binary, "serve", "--config", configFile))
	if err != nil {
		t.Fatal(err)
	}
	if p.Client = ClientAt(address.FindString(p.Ready)); p.Token == "" {
		t.Fatalf("no address with a token in %q", p.Ready)
	}
	return p
}

// Launch starts a program and returns when it has printed a line. It is killed
// with the test, if it still runs. A program that ends instead is an
// [*ExitError].
func Launch(t testing.TB, cmd *osexec.Cmd) (*Process, error) {
	t.Helper()
	p := &Process{cmd: cmd, stderr: &lockedBuffer{}, exited: make(chan struct{})}
	p.cmd.Stderr = p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.Pid = p.cmd.Process.Pid
	line := make(chan string, 1)
	go func() {
		defer close(p.exited)
		out := bufio.NewReader(stdout)
		first, _ := out.ReadString('\n')
		line <- strings.TrimSpace(first)
		_, _ = io.Copy(io.Discard, out)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(p.Kill)
	select {
	case p.Ready = <-line:
	case <-time.After(readyTime):
		p.Kill()
		return nil, fmt.Errorf("%s was not ready within %s: %s", cmd.Path, readyTime, p.stderr)
	}
	if p.Ready == "" {
		<-p.exited
		return nil, &ExitError{Code: p.cmd.ProcessState.ExitCode(), Output: p.stderr.String()}
	}
	return p, nil
}

// ExitError is a process that ended instead of being ready.
type ExitError struct {
	Code   int
	Output string
}

func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d: %s", e.Code, e.Output) }

// Kill ends the process as kill -9 does, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
}

// Stop ends the process as Ctrl+C does, and returns its error.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-p.exited
	if p.err != nil {
		return errors.Join(p.err, errors.New(p.stderr.String()))
	}
	return nil
}

// Stderr is what the process wrote there so far.
func (p *Process) Stderr() string { return p.stderr.String() }

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
