package execution

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/admission"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/artifact"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution/executiontest"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/output"
)

func TestHowCodeIsRun(t *testing.T) {
	for _, tc := range []struct {
		name, language, code string
		argv                 []string
		file, content        string
	}{
		{"python", Python, "print(1)", []string{"python3", "-I", "-S", "-B", "/run/nanoclaw/boot.py"}, "main.py", "print(1)"},
		{"bash", Bash, "echo \"$0\"; rm -rf '", []string{"bash", "--noprofile", "--norc", "/run/nanoclaw/main.sh"}, "main.sh", "echo \"$0\"; rm -rf '"},
		{"javascript", JavaScript, "const fs = require('fs')", []string{"node", "/run/nanoclaw/main.js"}, "main.js", "const fs = require('fs')"},
		{"a module that imports", JavaScript, "import fs from 'node:fs'", []string{"node", "/run/nanoclaw/main.mjs"}, "main.mjs", "import fs from 'node:fs'"},
		{"a module that exports", JavaScript, "x()\nexport default 1", []string{"node", "/run/nanoclaw/main.mjs"}, "main.mjs", "x()\nexport default 1"},
		{"a module that waits", JavaScript, "await x()", []string{"node", "/run/nanoclaw/main.mjs"}, "main.mjs", "await x()"},
		{"an import that is a call", JavaScript, "import('fs').then(f)", []string{"node", "/run/nanoclaw/main.js"}, "main.js", "import('fs').then(f)"},
		{"a byte order mark", Bash, "\uFEFFecho", []string{"bash", "--noprofile", "--norc", "/run/nanoclaw/main.sh"}, "main.sh", "echo"},
		{"a byte order mark alone", Python, "\uFEFF", []string{"python3", "-I", "-S", "-B", "/run/nanoclaw/boot.py"}, "main.py", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProgram(tc.language, tc.code)
			if !slices.Equal(p.argv, tc.argv) || string(p.files[tc.file]) != tc.content {
				t.Errorf("%q with %q", p.argv, p.files)
			}
		})
	}
}

func TestWhatAProgramGets(t *testing.T) {
	d := &executiontest.Driver{}
	r := newRunner(t, d)
	r.Roots = []string{t.TempDir(), "/no/such/folder"}
	run(t, r, Request{User: "ann", Language: Python, Code: "pass", Stdin: []byte("in"), Timeout: time.Second})
	run(t, r, Request{User: "ann", Language: Python, Code: "pass", Timeout: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 11*time.Second)
	defer cancel()
	if _, err := r.Run(ctx, Request{User: "ann", Language: Bash, Code: "x"}, output.NewCapture(), Events{}); err != nil {
		t.Fatal(err)
	}
	specs := d.Specs()
	first, second, third := specs[0], specs[1], specs[2]
	stdin, err := io.ReadAll(first.Stdin)
	if err != nil || string(stdin) != "in" || second.Stdin != nil {
		t.Errorf("stdin %q, %v", stdin, err)
	}
	if first.Limits.Wall != time.Second || second.Limits.Wall != r.Limits.Wall {
		t.Errorf("time of %s and %s", first.Limits.Wall, second.Limits.Wall)
	}
	if w := third.Limits.Wall; w > 10*time.Second || w < 5*time.Second {
		t.Errorf("%s until a deadline in 11s", w)
	}
	if first.Workspace != "" || !slices.Equal(first.ReadOnly, r.Roots[:1]) {
		t.Errorf("folders %q and %q", first.Workspace, first.ReadOnly)
	}
	if !slices.Contains(first.Env, "HOME=/tmp") || slices.ContainsFunc(first.Env, func(v string) bool { return strings.Contains(v, os.Getenv("HOME")+"/") }) {
		t.Errorf("environment %q", first.Env)
	}
}

func TestAWorkspaceIsKeptAndItsChangesAreTold(t *testing.T) {
	d := &executiontest.Driver{Program: func(_ context.Context, s isolate.Spec) (isolate.Result, error) {
		return isolate.Result{Status: isolate.StatusOK}, os.WriteFile(filepath.Join(s.Workspace, executiontest.Code(s)), []byte("hello"), 0o600)
	}}
	r := newRunner(t, d)
	r.Limits.FileBytes, r.Limits.Files = 1<<20, 20
	req := Request{User: "ann", Language: Python, Code: "first.txt", Workspace: "notes"}
	want := artifact.Artifact{Path: "first.txt", MimeType: "text/plain", Size: 5, SHA256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}
	if got := run(t, r, req); !cmp.Equal(got.Artifacts, []artifact.Artifact{want}) {
		t.Errorf("%+v", got.Artifacts)
	}
	req.Code = "second.txt"
	if got := run(t, r, req); len(got.Artifacts) != 1 || got.Artifacts[0].Path != "second.txt" {
		t.Errorf("%+v", got.Artifacts)
	}
	if got := d.Specs()[1].Limits; got.FileBytes != 1<<20-5 || got.Files != 19 {
		t.Errorf("%d bytes and %d files are left", got.FileBytes, got.Files)
	}
	r.Limits.FileBytes, r.Limits.Files = 1, 1
	run(t, r, req)
	if got := d.Specs()[2].Limits; got.FileBytes != minFileBytes || got.Files != minFiles {
		t.Errorf("in a full workspace %d bytes and %d files are left", got.FileBytes, got.Files)
	}
	if got := r.Workspaces.(*folders).changed; !slices.Equal(got, []string{"ann/notes", "ann/notes", "ann/notes"}) {
		t.Errorf("changed %q", got)
	}
}

func TestAWorkspaceThatIsDeletedMeanwhile(t *testing.T) {
	d := &executiontest.Driver{Program: func(_ context.Context, s isolate.Spec) (isolate.Result, error) {
		return isolate.Result{Status: isolate.StatusOK}, os.RemoveAll(s.Workspace)
	}}
	if got := run(t, newRunner(t, d), Request{User: "ann", Language: Bash, Code: "x", Workspace: "notes"}); got.Status != isolate.StatusOK || len(got.Artifacts) != 0 || got.ArtifactsTruncated || !strings.HasSuffix(got.Message, workspaceGone) {
		t.Errorf("%+v", got)
	}
}

func TestWordsForEachEnd(t *testing.T) {
	for _, tc := range []struct {
		end  isolate.Result
		says string
	}{
		{isolate.Result{Status: isolate.StatusOK}, "The program ended well and printed nothing; print what you want to see."},
		{isolate.Result{Status: isolate.StatusNonzeroExit, ExitCode: 3}, "The program ended with exit code 3; its standard error should tell why."},
		{isolate.Result{Status: isolate.StatusSignaled, Signal: "SIGSEGV"}, "The program was ended by SIGSEGV."},
		{isolate.Result{Status: isolate.StatusOOM, Detail: "it used more than 512 MiB."}, "It used more than 512 MiB. Read files in pieces and keep less at a time."},
		{isolate.Result{Status: isolate.StatusTimeoutWall}, "The time of the program was over. Do less in one run,"},
		{isolate.Result{Status: isolate.StatusTimeoutCPU}, "Look for a loop without end"},
		{isolate.Result{Status: isolate.StatusPidsLimit}, "Start fewer at a time."},
		{isolate.Result{Status: isolate.StatusOutputLimit}, "Write long output to a file"},
		{isolate.Result{Status: isolate.StatusDiskLimit}, "Delete what is not needed"},
		{isolate.Result{Status: isolate.StatusDeniedSyscall}, "Find a way without it."},
		{isolate.Result{Status: isolate.StatusCancelled}, "The run was cancelled."},
	} {
		t.Run(tc.end.Status, func(t *testing.T) {
			got := run(t, newRunner(t, &executiontest.Driver{Program: ends(tc.end)}), Request{User: "ann", Language: Python, Code: "x"})
			if got.Status != tc.end.Status || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: %q, want %q", got.Status, got.Message, tc.says)
			}
		})
	}
}

func TestASandboxThatFailsIsNoFailureOfTheProgram(t *testing.T) {
	d := &executiontest.Driver{Program: func(context.Context, isolate.Spec) (isolate.Result, error) {
		return isolate.Result{}, errors.New("bwrap: /srv/secret-path: no space")
	}}
	got := run(t, newRunner(t, d), Request{User: "ann", Language: Python, Code: "x"})
	if got.Status != StatusSandboxError || !got.Failed() || strings.Contains(got.Message, "secret-path") {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsRefusedBeforeItRuns(t *testing.T) {
	gone := errors.New("the disk is away")
	for _, tc := range []struct {
		name   string
		change func(r *Runner, d *executiontest.Driver)
		req    Request
		want   func(error) bool
	}{
		{"no isolation", func(_ *Runner, d *executiontest.Driver) { d.Find(executiontest.Missing()) }, Request{Language: Python}, func(err error) bool {
			u, ok := errors.AsType[*isolate.Unavailable](err)
			return ok && slices.Equal(u.Names(), []string{"bubblewrap"})
		}},
		{"no interpreter", func(_ *Runner, d *executiontest.Driver) {
			d.Find(isolate.Capabilities{Languages: map[string]string{"bash": "5"}})
		}, Request{Language: Python}, is[*NoLanguageError]},
		{"a language that nobody knows", nil, Request{Language: "cobol"}, is[*NoLanguageError]},
		{"a full queue", func(r *Runner, _ *executiontest.Driver) { r.Queue = fullQueue(t) }, Request{Language: Python}, is[*admission.FullError]},
		{"no workspace", func(r *Runner, _ *executiontest.Driver) { r.Workspaces = &folders{err: gone} }, Request{Language: Python, Workspace: "w"}, func(err error) bool { return errors.Is(err, gone) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := &executiontest.Driver{}
			r := newRunner(t, d)
			if tc.change != nil {
				tc.change(r, d)
			}
			out := output.NewCapture()
			_, err := r.Run(t.Context(), tc.req, out, Events{})
			if !tc.want(err) || len(d.Specs()) != 0 {
				t.Errorf("%v; %d programs were run", err, len(d.Specs()))
			}
			if err := out.Follow(t.Context(), nil); err != nil { // it is ended
				t.Error(err)
			}
		})
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func fullQueue(t *testing.T) *admission.Queue {
	q := admission.New(1, 0)
	if _, err := q.Enter(t.Context(), "somebody", ""); err != nil {
		t.Fatal(err)
	}
	return q
}

func TestAnExecutionCanBeSeenInATrace(t *testing.T) {
	const secret = "print('a secret')"
	for status, program := range map[string]func(context.Context, isolate.Spec) (isolate.Result, error){
		isolate.StatusOOM:  ends(isolate.Result{Status: isolate.StatusOOM}),
		StatusSandboxError: func(context.Context, isolate.Spec) (isolate.Result, error) { return isolate.Result{}, io.ErrClosedPipe },
	} {
		r := newRunner(t, &executiontest.Driver{Program: program})
		before := len(spans.Ended())
		run(t, r, Request{User: "ann", Language: Python, Code: secret})
		ended := spans.Ended()[before:]
		if len(ended) != 1 || ended[0].Name() != "sandbox exec" {
			t.Fatalf("%d spans", len(ended))
		}
		got := map[string]string{}
		for _, a := range ended[0].Attributes() {
			got[string(a.Key)] = a.Value.String()
		}
		want := map[string]string{"nanoclaw.sandbox.language": "python", "nanoclaw.sandbox.status": status, "nanoclaw.sandbox.queue_ms": got["nanoclaw.sandbox.queue_ms"]}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if failed := ended[0].Status().Code == codes.Error; failed != (status == StatusSandboxError) {
			t.Errorf("%s: the span says that it failed: %v", status, failed)
		}
	}
}

func TestTheMachineIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &executiontest.Driver{}
		r := newRunner(t, d)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Machine.Watch(ctx) }()
		probes := func(want int) {
			t.Helper()
			synctest.Wait()
			r.Machine.Capabilities(ctx)
			if n := d.Probes(); n != want {
				t.Errorf("looked %d times, want %d", n, want)
			}
		}
		probes(1)
		d.Find(executiontest.Missing())
		probes(1) // what was good is good for ten minutes
		time.Sleep(probeEvery)
		probes(2)
		time.Sleep(probeAgain)
		probes(3) // what was bad may be put right at any time
		d.Find(isolate.Capabilities{})
		time.Sleep(probeAgain)
		probes(4)
		time.Sleep(probeAgain)
		probes(4)
		stop()
		<-done
	})
}
