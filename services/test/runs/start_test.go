package runs

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// nobody is the user and group that may write nowhere.
const nobody = 65534

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	binary := world.Program(t, "nanoclaw")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	first := t.TempDir()
	serve := func(args ...string) *exec.Cmd {
		return exec.Command(binary, append([]string{"serve", "--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"}, args...)...)
	}
	running, err := world.Launch(t, serve("--data-dir", first))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		cmd   *exec.Cmd
		words []string
	}{
		{"a second process on the data folder", serve("--data-dir", first), []string{first, "another"}},
		{"a port in use", serve("--data-dir", t.TempDir(), "--http-addr", busy.Addr().String()), []string{"http.addr", busy.Addr().String(), "in use"}},
		{"a gRPC port in use", serve("--data-dir", t.TempDir(), "--grpc-addr", busy.Addr().String()), []string{"grpc.addr", "in use"}},
		{"a data folder that nobody may write to", readOnly(t, serve), []string{"permission denied"}},
		{"a data folder that is a file", serve("--data-dir", file), []string{file}},
		{"a configuration that is not there", serve("--data-dir", t.TempDir(), "--config", file+".yml"), []string{file + ".yml"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := world.Launch(t, tc.cmd)
			var exit *world.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("it started: %v, %v", p, err)
			}
			if exit.Code <= 0 {
				t.Errorf("exit code %d", exit.Code)
			}
			for _, w := range tc.words {
				if !strings.Contains(exit.Output, w) {
					t.Errorf("nothing about %q in: %s", w, exit.Output)
				}
			}
			if lines := strings.Split(strings.TrimSpace(exit.Output), "\n"); !strings.HasPrefix(lines[len(lines)-1], "nanoclaw: ") {
				t.Errorf("not a sentence for people: %s", exit.Output)
			}
			t.Log(strings.TrimSpace(exit.Output))
		})
	}
	if err := running.Stop(); err != nil {
		t.Errorf("the first process: %v", err)
	}
	again, err := world.Launch(t, serve("--data-dir", first))
	if err != nil {
		t.Fatalf("the folder is free and refused: %v", err)
	}
	again.Kill()
	if again, err = world.Launch(t, serve("--data-dir", first)); err != nil {
		t.Fatalf("the folder of a process that was killed is refused: %v", err)
	}
	if err := again.Stop(); err != nil {
		t.Error(err)
	}
}

// readOnly is a server that may not write to its data folder.
func readOnly(t *testing.T, serve func(...string) *exec.Cmd) *exec.Cmd {
	t.Helper()
	dir, err := os.MkdirTemp("", "nanoclaw-read-only-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	cmd := serve("--data-dir", dir)
	cmd.Dir = "/"
	if os.Geteuid() == 0 { // who may write everywhere
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}
