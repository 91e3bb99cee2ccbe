package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution/executiontest"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// answer calls a tool for ann and reads its result.
func (w *world) answer(name, key string, in args) (toolOutput, toolkit.Outcome) {
	w.t.Helper()
	out, err := w.call(w.as("ann"), name, key, in)
	if err != nil {
		w.t.Fatal(err)
	}
	var got toolOutput
	if err := json.Unmarshal([]byte(out.ContentJSON), &got); err != nil {
		w.t.Fatal(err)
	}
	return got, out
}

func TestModelsRunCode(t *testing.T) {
	d := &executiontest.Driver{Program: prints}
	w := newWorld(t, d)
	got, out := w.answer(ToolCode, "k1", args{"language": "python", "code": "print(1)"})
	want := toolOutput{
		Success: true, Status: "nonzero_exit", ExitCode: 3, Stdout: "out print(1)", Stderr: "err print(1)",
		Artifacts: got.Artifacts, DurationMS: 1500, Enforcement: map[string]string{"memory": "poll"},
		Message: "The program ended with exit code 3; its standard error should tell why.",
	}
	if diff := cmp.Diff(want, got); diff != "" || out.IsError || len(got.Artifacts) != 1 {
		t.Errorf("is error %v (-want +got):\n%s", out.IsError, diff)
	}
	if _, again := w.answer(ToolCode, "k1", args{"language": "python", "code": "print(1)"}); again.ContentJSON != out.ContentJSON || len(d.Specs()) != 1 {
		t.Errorf("the same call again: %s", again.ContentJSON)
	}
	if got, _ := w.answer(ToolShell, "k2", args{"command": "ls | wc"}); got.Stdout != "out ls | wc" {
		t.Errorf("%+v", got)
	}
	ctx := toolkit.WithConversation(w.as("ann"), "conv_1")
	if _, err := w.call(ctx, ToolShell, "k3", args{"command": "pwd"}); err != nil {
		t.Fatal(err)
	}
	specs := d.Specs()
	if a, b := specs[1].Workspace, specs[2].Workspace; filepath.Base(a) != defaultWorkspace || filepath.Base(b) != "conv_1" || filepath.Dir(a) != filepath.Dir(b) {
		t.Errorf("workspaces %s and %s", a, b)
	}
}

func TestHowTheToolsAreDeclared(t *testing.T) {
	w := newWorld(t, &executiontest.Driver{}, func(cfg *Config, _ *Deps) { cfg.Roots = []RootConfig{{"/var/log", "ro"}} })
	list, err := w.tools.ListTools(w.as("ann"), &toolv1.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, tool := range list.Tools {
		if tool.Name != ToolCode && tool.Name != ToolShell {
			continue
		}
		found++
		if tool.Effect != "queryable" || tool.Sink != "exec" || !tool.OutputUntrusted || tool.DefaultTimeout.AsDuration() != toolTimeout || tool.ResultKind != "" {
			t.Errorf("%+v", tool)
		}
		for _, words := range []string{"at most 30 seconds", "512 MiB", "can be read: /var/log."} {
			if !strings.Contains(tool.Description, words) {
				t.Errorf("%s does not say %q: %s", tool.Name, words, tool.Description)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of the tools are there", found)
	}
}

func TestWhatIsNoAnswerForAModel(t *testing.T) {
	broken := &executiontest.Driver{Program: func(context.Context, isolate.Spec) (isolate.Result, error) {
		return isolate.Result{}, errors.New("bwrap: /srv/secret-path")
	}}
	missing, noPython := &executiontest.Driver{}, &executiontest.Driver{}
	missing.Find(executiontest.Missing())
	noPython.Find(isolate.Capabilities{Languages: map[string]string{"bash": "5"}})
	for _, tc := range []struct {
		name         string
		driver       *executiontest.Driver
		change       func(*Config, *Deps)
		conversation string
		reason       string
		retryable    bool
		says         string
	}{
		{"no isolation", missing, nil, "", ReasonUnavailable, false, "apt-get install bubblewrap) Nothing was run."},
		{"no interpreter", noPython, nil, "", ReasonNoLanguage, false, "apt-get install python3"},
		{"a sandbox that fails", broken, nil, "", ReasonSandboxError, true, "The sandbox failed, not the program"},
		{"a conversation that is no name", &executiontest.Driver{}, nil, "../x", "INVALID_ARGUMENT", false, "workspace_id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, tc.driver)
			ctx := w.as("ann")
			if tc.conversation != "" {
				ctx = toolkit.WithConversation(ctx, tc.conversation)
			}
			out, err := w.call(ctx, ToolCode, "k", args{"language": "python", "code": "x"})
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Success bool
				Error   struct {
					Reason, Message string
					Retryable       bool
				}
			}
			if err := json.Unmarshal([]byte(out.ContentJSON), &got); err != nil {
				t.Fatal(err)
			}
			if !out.IsError || got.Success || got.Error.Reason != tc.reason || got.Error.Retryable != tc.retryable || !strings.Contains(got.Error.Message, tc.says) {
				t.Errorf("%s", out.ContentJSON)
			}
			if strings.Contains(out.ContentJSON, "secret-path") {
				t.Error("the cause is told")
			}
		})
	}
}

func TestResultsFitTheModelsRoom(t *testing.T) {
	const room = 24_000
	long := strings.Repeat("a \"line\"\n", 20_000)
	for _, tc := range []struct {
		name           string
		stdout, stderr string
		files          int
		outCut, errCut bool
		say            string
	}{
		{"short", "out", "err", 0, false, false, ""},
		{"a long output", long, "err", 0, true, false, tooLong},
		{"long errors", "out", long, 0, false, true, tooLong},
		{"both", long, long, 0, true, true, tooLong},
		{"both, and many files", long, long, 90, true, true, tooLong},
		{"other scripts", strings.Repeat("纳", 30_000), "", 0, true, false, tooLong},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, &executiontest.Driver{Program: func(_ context.Context, s isolate.Spec) (isolate.Result, error) {
				_, _ = io.WriteString(s.Stdout, tc.stdout)
				_, _ = io.WriteString(s.Stderr, tc.stderr)
				for i := range tc.files {
					if err := os.WriteFile(filepath.Join(s.Workspace, fmt.Sprintf("%s%02d", strings.Repeat("n", 100), i)), nil, 0o600); err != nil {
						return isolate.Result{}, err
					}
				}
				return isolate.Result{Status: isolate.StatusOK}, nil
			}})
			got, out := w.answer(ToolShell, "k", args{"command": "x"})
			n := utf8.RuneCountInString(out.ContentJSON)
			if n > room || tc.outCut && n < room-1500 {
				t.Errorf("%d characters", n)
			}
			if got.StdoutTruncated != tc.outCut || got.StderrTruncated != tc.errCut || got.Message != tc.say {
				t.Errorf("stdout cut %v, stderr cut %v, %q", got.StdoutTruncated, got.StderrTruncated, got.Message)
			}
			if tc.outCut && !strings.Contains(got.Stdout, " bytes left out ...]\n") || len(got.Stdout) == 0 {
				t.Errorf("stdout of %d bytes", len(got.Stdout))
			}
			if tc.files > 0 && (!got.ArtifactsTruncated || len(got.Artifacts) < 10) {
				t.Errorf("%d files, truncated %v", len(got.Artifacts), got.ArtifactsTruncated)
			}
		})
	}
}

func TestACallWhoseTurnDoesNotCome(t *testing.T) {
	free := make(chan struct{})
	begun := make(chan struct{}, 1)
	w := newWorld(t, &executiontest.Driver{Program: func(context.Context, isolate.Spec) (isolate.Result, error) {
		begun <- struct{}{}
		<-free
		return isolate.Result{Status: isolate.StatusOK}, nil
	}}, func(cfg *Config, _ *Deps) { cfg.Parallel = 1 })
	var first sync.WaitGroup
	first.Go(func() { w.answer(ToolShell, "k1", args{"command": "x"}) })
	<-begun
	ctx, cancel := context.WithTimeout(w.as("ann"), 50*time.Millisecond)
	defer cancel()
	x, err := w.svc.executions.Start(ctx, "user/ann", "", execution.Request{User: "ann", Language: execution.Bash, Code: "y"})
	if err != nil {
		t.Fatal(err)
	}
	<-x.Done()
	_, err = x.Result()
	out, failed := toolFailure(err)
	if text := fmt.Sprint(out.Value); failed != nil || !out.IsError || !strings.Contains(text, ReasonBusy) || !strings.Contains(text, "nothing was run") {
		t.Errorf("%+v, %v", out, failed)
	}
	close(free)
	first.Wait()
}

func TestACallThatIsCancelled(t *testing.T) {
	begun := make(chan struct{}, 1)
	d := &executiontest.Driver{Program: func(ctx context.Context, _ isolate.Spec) (isolate.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return isolate.Result{Status: isolate.StatusCancelled}, nil
	}}
	w := newWorld(t, d)
	ended := make(chan toolkit.Outcome, 1)
	go func() {
		out, err := w.call(w.as("ann"), ToolShell, "k", args{"command": "x"})
		if err != nil {
			t.Error(err)
		}
		ended <- out
	}()
	<-begun
	if _, err := w.tools.CancelCall(w.as("ann"), &toolv1.CancelCallRequest{Name: ToolShell, EffectKey: "k"}); err != nil {
		t.Fatal(err)
	}
	if out := <-ended; !out.IsError || !strings.Contains(out.ContentJSON, toolkit.ReasonCancelled) {
		t.Errorf("%+v", out)
	}
}
