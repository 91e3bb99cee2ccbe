package sandbox

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/output"
)

func TestProgramsInRealSandboxes(t *testing.T) {
	w := isolated(t)
	languages := w.svc.machine.Capabilities(t.Context()).Languages
	for _, tc := range []struct {
		name, language, code string
		stdin                string
		status               string
		exit                 int32
		stdout, stderr       string
	}{
		{name: "python", language: "python", code: "import sys\nprint('hello', sys.argv)\nprint('oops', file=sys.stderr)", status: "ok", stdout: "hello ['/run/nanoclaw/main.py']\n", stderr: "oops\n"},
		{name: "python ends itself", language: "python", code: "print('x')\nexit(7)", status: "nonzero_exit", exit: 7, stdout: "x\n"},
		{name: "a mistake in python", language: "python", code: "def f():\n    return 1 / 0\nf()", status: "nonzero_exit", exit: 1,
			stderr: "Traceback (most recent call last):\n  File \"/run/nanoclaw/main.py\", line 3, in <module>\n    f()\n"},
		{name: "python that is none", language: "python", code: "print('x", status: "nonzero_exit", exit: 1, stderr: "  File \"/run/nanoclaw/main.py\", line 1\n"},
		{name: "names of a python program", language: "python", code: "print(__name__, __file__, sorted(n for n in globals() if n[:2] != '__'))", status: "ok", stdout: "__main__ /run/nanoclaw/main.py []\n"},
		{name: "a python class that is pickled", language: "python", code: "import pickle\nclass A: pass\nprint(pickle.loads(pickle.dumps(A())).__class__.__module__)", status: "ok", stdout: "__main__\n"},
		{name: "the processes of python", language: "python", code: "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    with m.get_context('fork').Pool(2) as p: print(p.map(f, [1, 2]))", status: "ok", stdout: "[1, 4]\n"},
		{name: "python reads its input", language: "python", code: "import sys\nprint(sys.stdin.read()[::-1])", stdin: "abc", status: "ok", stdout: "cba\n"},
		{name: "python has no input", language: "python", code: "input()", status: "nonzero_exit", exit: 1, stderr: "Traceback (most recent call last):\n"},
		{name: "javascript", language: "javascript", code: "console.log(typeof require, 1 + 1)", status: "ok", stdout: "function 2\n"},
		{name: "a module of javascript", language: "javascript", code: "import fs from 'node:fs';\nconsole.log(typeof fs.readFileSync, await 2)", status: "ok", stdout: "function 2\n"},
		{name: "bash", language: "bash", code: "for i in 1 2; do echo \"'$i\\\"\"; done; exit 3", status: "nonzero_exit", exit: 3, stdout: "'1\"\n'2\"\n"},
		{name: "a byte order mark alone", language: "bash", code: "\uFEFF", status: "ok"},
		{name: "a signal", language: "bash", code: "kill -SEGV $$", status: "signaled", exit: 139},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if languages[tc.language] == "" {
				t.Skipf("there is no %s on this machine", tc.language)
			}
			got := w.run(&sandboxv1.ExecuteRequest{Language: tc.language, Code: tc.code, Stdin: []byte(tc.stdin)}).result
			if got.Status != tc.status || got.ExitCode != tc.exit || got.Stdout != tc.stdout || !strings.HasPrefix(got.Stderr, tc.stderr) {
				t.Errorf("%s, exit code %d, stdout %q, stderr %q, %s", got.Status, got.ExitCode, got.Stdout, got.Stderr, got.Message)
			}
		})
	}
}

func TestFilesStayInTheWorkspaceForTheNextProgram(t *testing.T) {
	w := isolated(t)
	first := w.run(&sandboxv1.ExecuteRequest{Language: "bash", WorkspaceId: "notes", Code: "echo 'x = 42' > helper.py; echo tmp > /tmp/x; mkdir -p deep/er; echo 1 > deep/er/f; ln -s /etc/passwd link; mkfifo pipe"}).result
	var paths []string
	for _, a := range first.Artifacts {
		paths = append(paths, a.Path)
	}
	if first.Status != "ok" || !slices.Equal(paths, []string{"deep/er/f", "helper.py"}) {
		t.Errorf("%s: %q %s", first.Status, paths, first.Stderr)
	}
	second := w.run(&sandboxv1.ExecuteRequest{Language: "bash", WorkspaceId: "notes", Code: "cat helper.py; cat /tmp/x"}).result
	if second.Stdout != "x = 42\n" || second.Status != "nonzero_exit" || len(second.Artifacts) != 0 {
		t.Errorf("%+v", second)
	}
	if other := w.run(&sandboxv1.ExecuteRequest{Language: "bash", WorkspaceId: "other", Code: "ls"}).result; other.Stdout != "" {
		t.Errorf("another workspace has %q", other.Stdout)
	}
	h, err := w.execute(w.as("bob"), &sandboxv1.ExecuteRequest{Language: "bash", WorkspaceId: "notes", Code: "ls"})
	if err != nil || h.result.Stdout != "" {
		t.Errorf("the workspace of another user: %q, %v", h.result.GetStdout(), err)
	}
}

func TestAProgramThatClosesItsFoldersIsNotInTheWayOfTheNext(t *testing.T) {
	w := isolated(t)
	first := w.run(&sandboxv1.ExecuteRequest{Language: "bash", WorkspaceId: "notes", Code: "mkdir d && echo 1 > d/f && echo 2 > f && chmod 000 d f . && echo closed"}).result
	if first.Stdout != "closed\n" {
		t.Fatalf("%+v", first)
	}
	if got := w.run(&sandboxv1.ExecuteRequest{Language: "bash", WorkspaceId: "notes", Code: "ls"}).result; got.Stdout != "d\nf\n" {
		t.Errorf("%q, %q", got.Stdout, got.Stderr)
	}
	if _, err := w.files.DeleteWorkspace(w.as("ann"), &sandboxv1.DeleteWorkspaceRequest{WorkspaceId: "notes"}); err != nil {
		t.Error(err)
	}
}

func TestAModuleOfTheWorkspaceIsFound(t *testing.T) {
	w := isolated(t)
	if w.svc.machine.Capabilities(t.Context()).Languages["python"] == "" {
		t.Skip("there is no python on this machine")
	}
	w.run(&sandboxv1.ExecuteRequest{Language: "bash", WorkspaceId: "notes", Code: "echo 'x = 42' > helper.py; echo 'x = 1' > random.py"})
	got := w.run(&sandboxv1.ExecuteRequest{Language: "python", WorkspaceId: "notes", Code: "import helper, random\nprint(helper.x, random.__file__[:5])"}).result
	if got.Stdout != "42 /usr/\n" {
		t.Errorf("%q, %q", got.Stdout, got.Stderr)
	}
}

func TestRootsCanBeRead(t *testing.T) {
	logs := t.TempDir()
	if err := os.WriteFile(filepath.Join(logs, "app.log"), []byte("a line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := isolated(t, func(cfg *Config, _ *Deps) { cfg.Roots = []RootConfig{{Path: logs, Mode: "ro"}} })
	got := w.run(&sandboxv1.ExecuteRequest{Language: "bash", Code: "cat " + logs + "/app.log; echo x >> " + logs + "/app.log"}).result
	if got.Stdout != "a line\n" || !strings.Contains(got.Stderr, "Read-only file system") {
		t.Errorf("%q, %q", got.Stdout, got.Stderr)
	}
}

func TestOutputOfRealPrograms(t *testing.T) {
	w := isolated(t)
	for _, tc := range []struct {
		name, code string
		stdin      int
		status     string
		check      func(t *testing.T, h heard)
	}{
		{name: "without end", code: "yes", status: "output_limit", check: func(t *testing.T, h heard) {
			if len(h.stdout) != 64<<20 || !h.result.StdoutTruncated || len(h.result.Stdout) > 3*output.EdgeBytes {
				t.Errorf("%d bytes, text of %d", len(h.stdout), len(h.result.Stdout))
			}
		}},
		{name: "errors alone", code: "head -c 3000000 /dev/zero | tr '\\0' e >&2; echo done", status: "ok", check: func(t *testing.T, h heard) {
			if string(h.stdout) != "done\n" || len(h.stderr) != 3_000_000 || !h.result.StderrTruncated {
				t.Errorf("%q, %d bytes", h.stdout, len(h.stderr))
			}
		}},
		{name: "64 KiB and one byte", code: "head -c 65537 /dev/zero | tr '\\0' x", status: "ok", check: func(t *testing.T, h heard) {
			if len(h.stdout) != 65537 || h.result.Stdout != string(h.stdout) {
				t.Errorf("%d bytes, text of %d", len(h.stdout), len(h.result.Stdout))
			}
		}},
		{name: "no UTF-8, NUL and escapes", code: `printf 'a\377\000\033[31mb\033]52;c;eA==\007\355\240\200c'`, status: "ok", check: func(t *testing.T, h heard) {
			if string(h.stdout) != "a\xff\x00\x1b[31mb\x1b]52;c;eA==\a\xed\xa0\x80c" || h.result.Stdout != "a\uFFFDb\uFFFDc" {
				t.Errorf("%q, text %q", h.stdout, h.result.Stdout)
			}
		}},
		{name: "one line of 20 MB", code: "head -c 20000000 /dev/zero | tr '\\0' x", status: "ok", check: func(t *testing.T, h heard) {
			if len(h.stdout) != 20_000_000 || !strings.Contains(h.result.Stdout, "\n[... 19868928 bytes left out ...]\n") {
				t.Errorf("%d bytes, text of %d", len(h.stdout), len(h.result.Stdout))
			}
		}},
		{name: "input that is never read", code: "echo ok", stdin: 1 << 20, status: "ok", check: func(t *testing.T, h heard) {
			if string(h.stdout) != "ok\n" {
				t.Errorf("%q", h.stdout)
			}
		}},
		{name: "input that is closed early", code: "exec 0<&-; echo ok", stdin: 1 << 20, status: "ok"},
		{name: "a daemon that holds the output", code: "sleep 1000 & echo ok", status: "ok", check: func(t *testing.T, h heard) {
			if string(h.stdout) != "ok\n" {
				t.Errorf("%q", h.stdout)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			h := w.run(&sandboxv1.ExecuteRequest{Language: "bash", Code: tc.code, Stdin: bytes.Repeat([]byte("i"), tc.stdin)})
			runtime.GC()
			runtime.ReadMemStats(&after)
			if h.result.Status != tc.status {
				t.Errorf("%s: %s", h.result.Status, h.result.Message)
			}
			if tc.check != nil {
				tc.check(t, h)
			}
			own := int64(cap(h.stdout) + cap(h.stderr)) // of this test
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc) - own; grown > 16<<20 {
				t.Errorf("the service has grown by %d bytes", grown)
			}
		})
	}
}

func TestOutputArrivesWhileTheProgramRuns(t *testing.T) {
	w := isolated(t)
	ctx, cancel := context.WithCancel(w.as("ann"))
	defer cancel()
	stream, err := w.sandbox.Execute(ctx, &sandboxv1.ExecuteRequest{Language: "bash", Code: "echo early; sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	for {
		msg, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if string(msg.GetStdout()) == "early\n" {
			return
		}
	}
}

func TestACallerWhoLeavesKillsTheProgram(t *testing.T) {
	w := isolated(t)
	ctx, cancel := context.WithCancel(w.as("ann"))
	mark := t.Name() + "-" + t.TempDir()
	stream, err := w.sandbox.Execute(ctx, &sandboxv1.ExecuteRequest{Language: "bash", Code: "exec -a " + mark + " sleep 1000 & exec -a " + mark + " sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	if msg, err := stream.Recv(); err != nil || msg.GetStarted() == nil {
		t.Fatal(msg, err)
	}
	until(t, func() bool { return count(t, mark) == 2 })
	cancel()
	if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	until(t, func() bool { return count(t, mark) == 0 })
	if got := w.run(&sandboxv1.ExecuteRequest{Language: "bash", Code: "echo ok"}); string(got.stdout) != "ok\n" {
		t.Errorf("the next program: %+v", got.result)
	}
}

// count tells how many processes of this machine have a word in their command.
func count(t *testing.T, word string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(word)) {
			n++
		}
	}
	return n
}

// until waits for what comes about in another process, as long as the test may.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it does not come about")
		}
	}
}
