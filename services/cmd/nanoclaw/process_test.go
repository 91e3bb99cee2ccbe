package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// processTime bounds what a script waits for; it is never waited for in full.
const processTime = 20 * time.Second

// program is nanoclaw as a process of its own.
type program struct {
	cmd *exec.Cmd
	// lines of stdout and stderr together, as they come; closed at their end.
	lines chan string
}

func start(ts *testscript.TestScript, args ...string) *program {
	cmd := exec.Command("nanoclaw", args...)
	// The name is looked up in the PATH of the script.
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if path := filepath.Join(dir, "nanoclaw"); exists(path) {
			cmd.Path, cmd.Err = path, nil
			break
		}
	}
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "XDG_CACHE_HOME", "SITE", "SITE_ADDR", "GRPC_ADDR", "MODEL", "NO_COLOR", "GORACE",
		"NANOCLAW_CONFIG", "NANOCLAW_GRPC_ADDR", "NANOCLAW_HTTP_ADDR", "NANOCLAW_ADMIN_ADDR"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	ts.Check(cmd.Start())
	p := &program{cmd: cmd, lines: make(chan string, 1000)}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = w.Close()
	})
	return p
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// await reads until a line matches.
func (p *program) await(ts *testscript.TestScript, pattern string) {
	want := regexp.MustCompile(pattern)
	timeout := time.After(processTime)
	for {
		select {
		case line, more := <-p.lines:
			if !more {
				ts.Fatalf("the process ended before %q", pattern)
			}
			ts.Logf("%s", line)
			if want.MatchString(line) {
				return
			}
		case <-timeout:
			ts.Fatalf("no line matches %q", pattern)
		}
	}
}

// ended waits for the process to end and gives its exit code.
func (p *program) ended(ts *testscript.TestScript) int {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.cmd.Wait() // the code is what counts
	}()
	select {
	case <-done:
	case <-time.After(processTime):
		_ = p.cmd.Process.Kill()
		<-done
		ts.Fatalf("the process did not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// serverKey is where a script keeps its server.
type serverKey struct{}

// startServer is "server ARGS": nanoclaw serve, waited for until it is ready.
func startServer(ts *testscript.TestScript, _ bool, args []string) {
	p := start(ts, append([]string{"serve"}, args...)...)
	p.await(ts, `^nanoclaw is ready: http://127\.0\.0\.1:\d+/\?token=nc_`)
	*ts.Value(serverKey{}).(**program) = p
}

// stopServer is "stop-server": SIGTERM once, and exit code 0.
func stopServer(ts *testscript.TestScript, _ bool, _ []string) {
	p := *ts.Value(serverKey{}).(**program)
	ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
	if code := p.ended(ts); code != 0 {
		ts.Fatalf("the server ended with %d", code)
	}
}

// interrupt is "interrupt PATTERN CODE ARGS": Ctrl+C when a line matches, and
// the exit code that follows.
func interrupt(ts *testscript.TestScript, _ bool, args []string) { end(ts, syscall.SIGINT, args) }

// hangup is interrupt by the end of the terminal.
func hangup(ts *testscript.TestScript, _ bool, args []string) { end(ts, syscall.SIGHUP, args) }

func end(ts *testscript.TestScript, by syscall.Signal, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	p := start(ts, args[2:]...)
	p.await(ts, args[0])
	ts.Check(p.cmd.Process.Signal(by))
	if code := p.ended(ts); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// backgroundKey is where a script keeps its command in the background.
type backgroundKey struct{}

// background is "background PATTERN ARGS": a command that goes on, waited for
// until a line matches.
func background(ts *testscript.TestScript, _ bool, args []string) {
	p := start(ts, args[1:]...)
	p.await(ts, args[0])
	*ts.Value(backgroundKey{}).(**program) = p
}

// stopBackground is "stop-background CODE": Ctrl+C, and the exit code that
// follows.
func stopBackground(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	p := *ts.Value(backgroundKey{}).(**program)
	ts.Check(p.cmd.Process.Signal(syscall.SIGINT))
	if code := p.ended(ts); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}
