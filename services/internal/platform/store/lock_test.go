package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestADataFolderHasOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	child := exec.Command(os.Args[0], dir)
	child.Env = append(os.Environ(), childEnv+"=locker")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", info.Mode(), err)
	}

	_, err = LockDir(dir)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != child.Process.Pid {
		t.Errorf("err = %v, want the pid %d", err, child.Process.Pid)
	}
	for _, want := range []string{dir, fmt.Sprintf("pid %d", child.Process.Pid), "--data-dir"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want it to name %q", err, want)
		}
	}

	if got := OwnerPID(dir); got != child.Process.Pid {
		t.Errorf("the owner is %d, want %d", got, child.Process.Pid)
	}
	if got := OwnerPID(t.TempDir()); got != 0 {
		t.Errorf("the owner of a folder of nobody is %d", got)
	}

	in.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	lock, err := LockDir(dir)
	if err != nil {
		t.Fatalf("after the owner left: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "nanoclaw.lock")); string(text) != fmt.Sprintf("%d\n", os.Getpid()) {
		t.Errorf("lock file = %q, %v", text, err)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestALockDiesWithItsProcess(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0], dir)
	child.Env = append(os.Environ(), childEnv+"=locker")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	lock, err := LockDir(dir)
	if err != nil {
		t.Fatalf("after kill -9: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestFoldersThatCannotBeLocked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	readOnly := filepath.Join(t.TempDir(), "ro")
	if err := os.Mkdir(readOnly, 0o500); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ dir, want string }{
		"empty path":       {"", "path is empty"},
		"a file":           {file, "not a directory"},
		"inside a file":    {filepath.Join(file, "x"), "create data folder"},
		"read-only folder": {readOnly, "must be writable for this user"},
	}
	if os.Geteuid() == 0 { // root may write into any folder but those of the kernel
		cases["read-only folder"] = struct{ dir, want string }{"/proc/self", "must be writable for this user"}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := LockDir(tc.dir)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "--data-dir") {
				t.Errorf("err = %v, want it to contain %q", err, tc.want)
			}
		})
	}
}
