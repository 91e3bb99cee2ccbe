package isolate

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// attack is a program that tries to get out of a sandbox, to use up the machine
// or to harm the service.
type attack struct {
	group, name string
	// One of these is the program: bash and python are its text, python with
	// the names of attackPrelude.
	bash, python string
	argv         []string
	limits       Limits
	stdin        io.Reader
	// workspace asks for one on the host; else it is in memory.
	workspace bool
	// want are the statuses that are right; empty: ok.
	want []string
	// out must be in its standard output.
	out string
	// check looks further.
	check func(t *testing.T, a attacked)
}

// attacked is what came of an attack.
type attacked struct {
	world          *attackWorld
	res            Result
	stdout, stderr string
	workspace      string
}

// attackTime is enough for every program that ends by itself, on a machine that
// is busy.
const attackTime = 60 * time.Second

// try makes an attack and checks what must be so after each of them: the status
// is right, the next program runs, nothing is left, and the host is as it was.
func (w *attackWorld) try(t *testing.T, a attack) {
	t.Helper()
	mark := newMark("attack")
	s := Spec{Limits: a.limits, Stdin: a.stdin, Files: map[string][]byte{mark: []byte(w.program(a))}}
	if s.Limits.Wall == 0 {
		s.Limits.Wall = attackTime
	}
	file := "/run/nanoclaw/" + mark
	switch {
	case a.python != "":
		s.Argv = []string{"python3", "-I", "-S", "-B", file}
	case a.bash != "":
		s.Argv = []string{"bash", file}
	default:
		s.Argv = append(slices.Clone(a.argv), mark)
	}
	got := attacked{world: w}
	if a.workspace {
		s.Workspace = filepath.Join(w.home, mark)
		if err := os.Mkdir(s.Workspace, 0o700); err != nil {
			t.Fatal(err)
		}
		got.workspace = s.Workspace
	}
	var stdout, stderr bytes.Buffer
	s.Stdout, s.Stderr = &stdout, &stderr
	res, err := w.driver.Run(t.Context(), s)
	if err != nil {
		t.Fatalf("the sandbox failed: %v", err)
	}
	got.res, got.stdout, got.stderr = res, stdout.String(), stderr.String()
	want := a.want
	if len(want) == 0 {
		want = []string{StatusOK}
	}
	if !slices.Contains(want, res.Status) {
		t.Errorf("status %q (%s, exit code %d), want one of %q\nstdout: %.2000s\nstderr: %.2000s",
			res.Status, res.Detail, res.ExitCode, want, got.stdout, got.stderr)
	}
	if !strings.Contains(got.stdout, a.out) {
		t.Errorf("stdout %.2000q, want %q in it; stderr %.2000q", got.stdout, a.out, got.stderr)
	}
	if a.check != nil {
		a.check(t, got)
	}
	w.unharmed(t, mark)
	if a.workspace {
		if err := os.RemoveAll(s.Workspace); err != nil {
			t.Errorf("the workspace cannot be removed: %v", err)
		}
	}
}

// program is the text of an attack's program.
func (w *attackWorld) program(a attack) string {
	text := a.bash
	if a.python != "" {
		text = attackPrelude() + a.python
	}
	return w.replace.Replace(text)
}

// unharmed checks that an attack has left nothing behind.
func (w *attackWorld) unharmed(t *testing.T, mark string) {
	t.Helper()
	var out bytes.Buffer
	res, err := w.driver.Run(context.Background(), Spec{Argv: []string{"sh", "-c", "echo alive"}, Stdout: &out, Limits: Limits{Wall: attackTime}})
	if err != nil || res.Status != StatusOK || out.String() != "alive\n" {
		t.Errorf("the next program: %+v, %v, %q", res, err, out.String())
	}
	if left := processesWith(mark); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
	if left := w.runsLeft(); len(left) > 0 {
		t.Errorf("cgroups are left: %q", left)
	}
	if left, _ := os.ReadDir(w.temp); len(left) > 0 {
		t.Errorf("temporary files are left: %q", left)
	}
	if left := w.mountsLeft(); len(left) > 0 {
		t.Errorf("mounts are left: %q", left)
	}
	w.fewDescriptors(t)
	w.canaries(t)
}

// newMark is a word for processesWith that no other process of the machine has.
func newMark(name string) string {
	return name + "-" + strings.ToLower(rand.Text()[:12])
}

// processesWith finds processes that have a word in their command line, which
// the processes of a sandbox have from its beginning.
func processesWith(word string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(word)) {
			found = append(found, fmt.Sprintf("%s: %.300q", f, b))
		}
	}
	return found
}

// mounts are the lines of the host's mounts.
func mounts() []string {
	b, _ := os.ReadFile("/proc/self/mountinfo")
	return slices.Collect(strings.Lines(string(b)))
}

// mountsLeft are mounts of the host that only a sandbox can have made.
func (w *attackWorld) mountsLeft() []string {
	var left []string
	for _, line := range mounts() {
		if slices.Contains(w.mounts, line) {
			continue
		}
		for _, part := range []string{w.home, w.temp, "/newroot", "/oldroot", " /workspace ", "/run/nanoclaw"} {
			if strings.Contains(line, part) {
				left = append(left, line)
			}
		}
	}
	return left
}

// runsLeft are the cgroups of runs that are still there.
func (w *attackWorld) runsLeft() []string {
	var left []string
	for _, h := range w.driver.cgroups.made {
		runs, _ := filepath.Glob(filepath.Join(h.dir, "run-*"))
		left = append(left, runs...)
	}
	return left
}

// fewDescriptors checks that no file stays open; a goroutine that is closing one
// may need a moment.
func (w *attackWorld) fewDescriptors(t *testing.T) {
	t.Helper()
	var now []os.DirEntry
	for deadline := time.Now().Add(attackTime); time.Now().Before(deadline); {
		if now, _ = os.ReadDir("/proc/self/fd"); len(now) <= w.descriptors {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d files are open, there were %d", len(now), w.descriptors)
}
