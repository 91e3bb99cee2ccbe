package isolate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLife is what happens around programs: cancelled, many at once, the service
// closed or killed, one after another.
func TestLife(t *testing.T) {
	w := newAttackWorld(t)
	spec := func(mark, script string) Spec {
		return Spec{Argv: []string{"bash", "-c", script, mark}, Limits: Limits{Wall: attackTime}}
	}

	t.Run("a program that is cancelled is gone with all it has started", func(t *testing.T) {
		mark := newMark("cancelled-program")
		ctx, cancel := context.WithCancel(t.Context())
		s := spec(mark, "trap '' TERM; setsid sleep 3600 & sleep 3600")
		s.Started = func(Start) { cancel() }
		res, err := w.driver.Run(ctx, s)
		if err != nil || res.Status != StatusCancelled || res.Signal != "SIGKILL" {
			t.Errorf("%+v, %v", res, err)
		}
		w.unharmed(t, mark)
	})

	t.Run("one that was cancelled before does not start", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := spec("never", "echo ran")
		s.Started = func(Start) { t.Error("it started") }
		if res, err := w.driver.Run(ctx, s); err != nil || res.Status != StatusCancelled {
			t.Errorf("%+v, %v", res, err)
		}
	})

	t.Run("a reader that does not read holds up neither the limit nor the end", func(t *testing.T) {
		mark := newMark("blocked-program")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := spec(mark, "yes")
		s.Limits.Wall = 200 * time.Millisecond
		stuck := make(chan struct{})
		s.Stdout = writerFunc(func([]byte) (int, error) {
			close(stuck)
			<-ctx.Done()
			return 0, ctx.Err()
		})
		done := make(chan Result)
		go func() {
			res, err := w.driver.Run(ctx, s)
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		<-stuck
		gone(t, mark) // while the reader still does not read
		cancel()
		if res := <-done; res.Status != StatusTimeoutWall {
			t.Errorf("%+v", res)
		}
	})

	t.Run("a reader that has gone away does not hold up the program", func(t *testing.T) {
		s := spec("unread-program", "head -c 1000000 /dev/zero; echo done >&2")
		var stderr bytes.Buffer
		s.Stdout = writerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe })
		s.Stderr = &stderr
		if res, err := w.driver.Run(t.Context(), s); err != nil || res.Status != StatusOK || stderr.String() != "done\n" {
			t.Errorf("%+v, %v, %q", res, err, stderr.String())
		}
	})

	t.Run("many at once", func(t *testing.T) {
		mark := newMark("many")
		var all sync.WaitGroup
		for range 24 {
			all.Go(func() {
				var out bytes.Buffer
				s := spec(mark, "echo $((6*7)); ls /proc | grep -c '^[0-9]'; ls -A /tmp /workspace /dev/shm; echo x > /tmp/x")
				s.Stdout = &out
				res, err := w.driver.Run(t.Context(), s)
				if err != nil || res.Status != StatusOK || !strings.HasPrefix(out.String(), "42\n") {
					t.Errorf("%+v, %v, %q", res, err, out.String())
				}
			})
		}
		all.Wait()
		w.unharmed(t, mark)
	})

	t.Run("nothing of one is there for the next", func(t *testing.T) {
		put := spec("put", "for d in /tmp /dev/shm /workspace; do echo x > $d/left; done; export LEFT=x")
		look := spec("look", "ls -A /tmp /dev/shm /workspace; echo $LEFT")
		var out bytes.Buffer
		look.Stdout = &out
		for _, s := range []Spec{put, look} {
			if res, err := w.driver.Run(t.Context(), s); err != nil || res.Status != StatusOK {
				t.Errorf("%+v, %v", res, err)
			}
		}
		if strings.Contains(out.String(), "left") || strings.Contains(out.String(), "x") {
			t.Errorf("the next saw %q", out.String())
		}
	})

	t.Run("a port that a program opens is not open on the host", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(address)
		in, out := io.Pipe()
		s := Spec{
			Argv:   []string{"python3", "-I", "-S", "/run/nanoclaw/port.py"},
			Stdin:  in,
			Limits: Limits{Wall: attackTime},
			Files: map[string][]byte{"port.py": []byte("import socket, sys\ns = socket.socket(); s.bind(('0.0.0.0', " + port +
				")); s.listen()\nc = socket.create_connection(('127.0.0.1', " + port + "))\nprint('open', flush=True)\nsys.stdin.read()\n")},
		}
		s.Stdout = writerFunc(func(b []byte) (int, error) {
			if c, err := net.Dial("tcp", address); err == nil {
				t.Error("it is open on the host")
				_ = c.Close()
			}
			_ = out.Close()
			return len(b), nil
		})
		if res, err := w.driver.Run(t.Context(), s); err != nil || res.Status != StatusOK {
			t.Errorf("%+v, %v", res, err)
		}
		_ = out.Close()
	})

	t.Run("files and folders that were given", func(t *testing.T) {
		given := filepath.Join(w.home, "given")
		if err := os.Mkdir(given, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(given, "log"), []byte("line\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := spec("given", "cat "+given+"/log /run/nanoclaw/data; echo x > "+given+"/log || echo refused; touch "+given+"/y || echo refused")
		var out bytes.Buffer
		s.Stdout = &out
		s.ReadOnly = []string{given}
		s.Files = map[string][]byte{"data": []byte("text\n")}
		if res, err := w.driver.Run(t.Context(), s); err != nil || res.Status != StatusOK || out.String() != "line\ntext\nrefused\nrefused\n" {
			t.Errorf("%+v, %v, %q", res, err, out.String())
		}
	})

	t.Run("what cannot be run is refused before anything is made", func(t *testing.T) {
		for name, s := range map[string]Spec{
			"no command":              {},
			"an argument of 2 MB":     {Argv: []string{"true", strings.Repeat("x", 2<<20)}},
			"an environment of 10 MB": {Argv: []string{"true"}, Env: strings.Split(strings.Repeat("A=x,", 5<<19)+"B=y", ",")},
			"a NUL in an argument":    {Argv: []string{"true", "a\x00--share-net"}},
			"a NUL in a variable":     {Argv: []string{"true"}, Env: []string{"A=b\x00--share-net"}},
			"a variable without name": {Argv: []string{"true"}, Env: []string{"=x"}},
			"a file that leads out":   {Argv: []string{"true"}, Files: map[string][]byte{"../x": nil}},
			"a workspace that is not": {Argv: []string{"true"}, Workspace: filepath.Join(w.home, "missing")},
			"a relative workspace":    {Argv: []string{"true"}, Workspace: "."},
			"a folder that is all":    {Argv: []string{"true"}, ReadOnly: []string{"/"}},
			"a folder of sockets":     {Argv: []string{"true"}, ReadOnly: []string{"/run"}},
			"a folder with passwords": {Argv: []string{"true"}, ReadOnly: []string{"/etc"}},
			"a folder of devices":     {Argv: []string{"true"}, ReadOnly: []string{"/dev/shm"}},
			"a workspace of a file":   {Argv: []string{"true"}, Workspace: w.file},
		} {
			if res, err := w.driver.Run(t.Context(), s); !errors.Is(err, ErrSpec) {
				t.Errorf("%s: %+v, %v", name, res, err)
			}
		}
	})

	t.Run("a program that is not there", func(t *testing.T) {
		mark := newMark("no-such-program")
		_, err := w.driver.Run(t.Context(), Spec{Argv: []string{mark}})
		if err == nil || !strings.Contains(err.Error(), mark) || !strings.Contains(err.Error(), "No such file") {
			t.Errorf("error %v", err)
		}
		w.unharmed(t, mark)
	})

	t.Run("no zombie is left to a service that inherits orphans, as the first process of a container does", func(t *testing.T) {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
		for _, script := range []string{"exit 0", "sleep 3600 & exit 3", "kill -9 $$"} {
			for range 5 {
				if _, err := w.driver.Run(t.Context(), spec("inherited", script)); err != nil {
					t.Error(err)
				}
			}
		}
		if left := zombies(t); len(left) > 0 {
			t.Errorf("zombies: %q", left)
		}
	})

	t.Run("the service killed in the middle", func(t *testing.T) {
		mark := newMark("orphaned-program")
		// The first process has asked to die with the service before it has put
		// the filter of system calls on itself.
		cgroups := killedService(t, mark,
			`trap '' TERM INT HUP; until grep -q 'Seccomp:.*2' /proc/1/status; do :; done; echo ready; sleep 3600 & sleep 3600; wait`, "ready")
		gone(t, mark)
		newDriver(t, Config{}).swept(t, cgroups)
		w.unharmed(t, mark)
	})

	t.Run("the service killed at the worst moment", func(t *testing.T) {
		mark := newMark("stranded-program")
		for range 5 {
			cgroups := killedService(t, mark, "sleep 3600", "made")
			newDriver(t, Config{}).swept(t, cgroups)
			gone(t, mark)
		}
	})

	t.Run("the service closed in the middle", func(t *testing.T) {
		mark := newMark("closed-program")
		d := newDriver(t, Config{MemoryPoll: true})
		d.Probe(t.Context())
		started, done := make(chan struct{}), make(chan Result)
		go func() {
			s := spec(mark, "sleep 3600")
			s.Started = func(Start) { close(started) }
			res, err := d.Run(t.Context(), s)
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		<-started
		closed := make(chan error)
		go func() { closed <- d.Close() }()
		if res := <-done; res.Status != StatusCancelled {
			t.Errorf("%+v", res)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if _, err := d.Run(t.Context(), spec("late", "true")); !errors.Is(err, ErrClosed) {
			t.Errorf("a run after Close: %v", err)
		}
		w.unharmed(t, mark)
	})
}

// swept checks that the cgroups of a service that was killed are gone, and
// closes the driver that has removed them at its start.
func (b *bubblewrap) swept(t *testing.T, cgroups []string) {
	t.Helper()
	for _, dir := range cgroups {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a cgroup is left: %s, %v", dir, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// zombies are children of this process that have ended and were not waited for.
func zombies(t *testing.T) []string {
	t.Helper()
	var found []string
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
			found = append(found, string(b))
		}
	}
	return found
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
