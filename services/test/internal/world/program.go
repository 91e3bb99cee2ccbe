package world

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Program is the path of a program of the product: nanoclaw or provider. Both
// are built once for all tests of a package, unless NANOCLAW_TEST_PROGRAMS names
// the folder that they are in.
func Program(t testing.TB, name string) string {
	t.Helper()
	if dir := os.Getenv("NANOCLAW_TEST_PROGRAMS"); dir != "" {
		return filepath.Join(dir, name)
	}
	if err := build(); err != nil {
		t.Fatalf("build: %v", err)
	}
	return filepath.Join(buildDir(), name)
}

// RemovePrograms removes what Program built, at the end of the tests.
func RemovePrograms() { _ = os.RemoveAll(buildDir()) }

var buildDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "nanoclaw-test-")
	if err != nil {
		panic(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // one test runs a program as nobody
		panic(err)
	}
	return dir
})

var build = sync.OnceValue(func() error {
	// As make build does it, so that what is compiled already is not compiled
	// again for the race detector of these tests.
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", buildDir()+string(filepath.Separator),
		"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw",
		"github.com/nanoclaw/nanoclaw/services/toolkit/examples/provider")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})
