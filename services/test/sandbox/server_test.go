package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// nobody is the user and group without any rights.
const nobody = 65534

// patience is more than any program here takes that ends by itself, on a machine
// that is busy.
const patience = 60 * time.Second

// server is a suite that runs programs, and things of its machine that programs
// must not reach.
type server struct {
	*world.Process
	programs sandboxv1.SandboxServiceClient
	dataDir  string
	secret   string // a file that only the user of the server can read
}

const secretText = "nobody in a sandbox reads this\n"

// startServer starts the binary as a user; 0 is the one of this test.
func startServer(t *testing.T, uid uint32) *server {
	t.Helper()
	w := world.New(t, "turns: [{replies: [{steps: [{text: x}]}]}]")
	dir := t.TempDir()
	w.Config.DataDir = filepath.Join(dir, "data")
	w.Config.GRPC.Addr = addrtest.Reserve(t)
	l := &w.Config.Sandbox.Limits
	l.CPU, l.Wall = time.Second, patience
	l.MemoryMiB, l.TmpMiB, l.Pids = 96, 16, 32
	w.Config.Sandbox.Workspaces.QuotaMiB, w.Config.Sandbox.Workspaces.MaxFiles = 16, 2000
	w.Config.Sandbox.MemoryPoll = true
	s := &server{dataDir: w.Config.DataDir, secret: filepath.Join(dir, "secret")}
	if err := os.WriteFile(s.secret, []byte(secretText), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config.yml")
	if err := os.Rename(w.ConfigFile(t), config); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(world.Program(t, "nanoclaw"), "serve", "--config", config)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "NANOCLAW_TEST_SECRET=in-the-environment", "HOME="+dir, "TMPDIR="+dir)
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		for _, path := range []string{dir, s.secret, config} {
			if err := os.Chown(path, int(uid), int(uid)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p, err := world.Launch(t, cmd)
	if err != nil {
		t.Fatal(err)
	}
	s.Process = p
	conn, err := grpc.NewClient(w.Config.GRPC.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s.programs = sandboxv1.NewSandboxServiceClient(conn)
	at := slices.IndexFunc(strings.Fields(p.Ready), func(w string) bool { return strings.HasPrefix(w, "http://") })
	if at < 0 {
		t.Fatalf("no address in %q", p.Ready)
	}
	s.Client = world.ClientAt(strings.Fields(p.Ready)[at])
	return s
}

// outcome is what came of a program.
type outcome struct {
	result         *sandboxv1.ExecutionResult
	stdout, stderr bytes.Buffer
}

// execute runs a program; started is called when it runs.
func (s *server) execute(ctx context.Context, req *sandboxv1.ExecuteRequest, started func()) (*outcome, error) {
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.Token)
	stream, err := s.programs.Execute(ctx, req)
	if err != nil {
		return nil, err
	}
	var o outcome
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return &o, nil
		case err != nil:
			return &o, err
		case m.GetStarted() != nil && started != nil:
			started()
		case m.GetResult() != nil:
			o.result = m.GetResult()
		}
		o.stdout.Write(m.GetStdout())
		o.stderr.Write(m.GetStderr())
	}
}

// unharmed checks that the server runs the next program, has no child left and
// is no larger than it should be, and that its files are as they were.
func (s *server) unharmed(t *testing.T, mark string) {
	t.Helper()
	o, err := s.execute(t.Context(), &sandboxv1.ExecuteRequest{Language: "bash", Code: "echo alive"}, nil)
	if err != nil || o.result.GetStatus() != "ok" || o.stdout.String() != "alive\n" {
		t.Errorf("the next program: %v, %v", o, err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		left := append(children(s.Pid), processesWith(mark)...)
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("processes are left: %q", left)
			break
		}
	}
	if b, err := os.ReadFile(s.secret); err != nil || string(b) != secretText {
		t.Errorf("a file of the server is now %q, %v", b, err)
	}
	select {
	case <-t.Context().Done():
	default:
		if err := syscall.Kill(s.Pid, 0); err != nil {
			t.Fatalf("the server is gone: %v\n%s", err, s.Stderr())
		}
	}
}

// children are the processes that a process has started.
func children(pid int) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			found = append(found, string(b[:bytes.LastIndexByte(b, ')')+1]))
		}
	}
	return found
}

// processesWith finds processes that have a word in their command line.
func processesWith(word string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(word)) {
			found = append(found, fmt.Sprintf("%.200q", b))
		}
	}
	return found
}

// memory is the memory of a process, in bytes.
func memory(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(b))
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || !slices.Contains([]int{7}, len(fields)) {
		t.Fatalf("statm is %q", b)
	}
	return pages * int64(os.Getpagesize())
}
