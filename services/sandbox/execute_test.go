package sandbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution/executiontest"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
)

// prints is a program that writes its code to both streams and a file.
func prints(_ context.Context, s isolate.Spec) (isolate.Result, error) {
	code := executiontest.Code(s)
	_, _ = io.WriteString(s.Stdout, "out "+code)
	_, _ = io.WriteString(s.Stderr, "err "+code)
	if s.Workspace != "" {
		if err := os.WriteFile(filepath.Join(s.Workspace, "result.txt"), []byte(code), 0o600); err != nil {
			return isolate.Result{}, err
		}
	}
	return isolate.Result{
		Status: isolate.StatusNonzeroExit, ExitCode: 3, Wall: 1500e6, CPU: 20e6, Start: 7e6,
		MaxMemoryBytes: 10 << 20, Enforcement: map[string]string{"memory": "poll"},
	}, nil
}

func TestExecute(t *testing.T) {
	w := newWorld(t, &executiontest.Driver{Program: prints})
	got := w.run(&sandboxv1.ExecuteRequest{Language: "python", Code: "x纳", WorkspaceId: "notes"})
	want := &sandboxv1.ExecutionResult{
		Status: "nonzero_exit", ExitCode: 3, Stdout: "out x纳", Stderr: "err x纳",
		Artifacts:  []*sandboxv1.Artifact{{Path: "result.txt", MimeType: "text/plain", SizeBytes: 4, Sha256: "8eb3d6e1503763e25d5d2f2c23b7f80a8c07aeeb68343a237e6e363d7a488c88"}},
		DurationMs: 1500, CpuMs: 20, StartMs: 7, MaxMemoryKib: 10 << 10, Enforcement: map[string]string{"memory": "poll"},
		Message: "The program ended with exit code 3; its standard error should tell why.",
	}
	if diff := cmp.Diff(want, got.result, protocmp.Transform(), protocmp.IgnoreFields(want, "queue_ms")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if string(got.stdout) != "out x纳" || string(got.stderr) != "err x纳" {
		t.Errorf("%q and %q", got.stdout, got.stderr)
	}
}

func TestExecuteKeepsAnExecutionByItsKey(t *testing.T) {
	d := &executiontest.Driver{Program: prints}
	dir := t.TempDir()
	w := newWorld(t, d, func(_ *Config, deps *Deps) { deps.DataDir = dir })
	req := &sandboxv1.ExecuteRequest{Language: "bash", Code: "x", EffectKey: "k"}
	first := w.run(req)
	second := w.run(req)
	if diff := cmp.Diff(first.result, second.result, protocmp.Transform()); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	if len(d.Specs()) != 1 {
		t.Errorf("%d programs were run", len(d.Specs()))
	}
	_, err := w.execute(w.as("ann"), &sandboxv1.ExecuteRequest{Language: "bash", Code: "y", EffectKey: "k"})
	if status.Code(err) != codes.Aborted || rpcerr.Reason(err) != ReasonKeyReused {
		t.Errorf("other code under the key: %v", err)
	}
	if _, err := w.execute(w.as("bob"), &sandboxv1.ExecuteRequest{Language: "bash", Code: "y", EffectKey: "k"}); err != nil {
		t.Errorf("the key of somebody else: %v", err)
	}
}

func TestWhatExecuteRefuses(t *testing.T) {
	ok := &sandboxv1.ExecuteRequest{Language: "python", Code: "x"}
	for _, tc := range []struct {
		name   string
		caps   *isolate.Capabilities
		change func(*Config, *Deps)
		as     auth.Principal
		req    *sandboxv1.ExecuteRequest
		code   codes.Code
		reason string
		says   string
	}{
		{name: "nobody", as: auth.Principal{}, req: ok, code: codes.Unauthenticated, reason: "UNAUTHENTICATED"},
		{name: "a service for itself", as: auth.ServicePrincipal("orchestrator"), req: ok, code: codes.PermissionDenied, reason: "USER_REQUIRED"},
		{name: "a token without the scope", as: auth.UserPrincipal("ann", "chat"), req: ok, code: codes.PermissionDenied},
		{name: "a language that nobody knows", req: &sandboxv1.ExecuteRequest{Language: "cobol", Code: "x"}, code: codes.InvalidArgument, says: "language"},
		{name: "no code", req: &sandboxv1.ExecuteRequest{Language: "python"}, code: codes.InvalidArgument, says: "code"},
		{name: "too much code", req: &sandboxv1.ExecuteRequest{Language: "python", Code: strings.Repeat("x", 1<<20+1)}, code: codes.InvalidArgument, says: "code"},
		{name: "a workspace that leads out", req: &sandboxv1.ExecuteRequest{Language: "python", Code: "x", WorkspaceId: "../ann"}, code: codes.InvalidArgument, says: "workspace_id"},
		{name: "time that runs backwards", req: &sandboxv1.ExecuteRequest{Language: "python", Code: "x", TimeoutMs: -1}, code: codes.InvalidArgument, says: "timeout_ms"},
		{
			name: "a machine without isolation", caps: new(executiontest.Missing()), req: ok,
			code: codes.FailedPrecondition, reason: ReasonUnavailable, says: "apt-get install bubblewrap",
		},
		{
			name: "a machine without the language", caps: &isolate.Capabilities{Languages: map[string]string{"bash": "5"}}, req: ok,
			code: codes.FailedPrecondition, reason: ReasonNoLanguage, says: "python is not installed",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := &executiontest.Driver{}
			if tc.caps != nil {
				d.Find(*tc.caps)
			}
			w := newWorld(t, d)
			ctx := w.as("ann")
			if tc.as.Kind != "" || tc.name == "nobody" {
				ctx = t.Context()
			}
			if tc.as.Kind != "" {
				ctx = auth.NewContext(ctx, tc.as)
			}
			_, err := w.execute(ctx, tc.req)
			if status.Code(err) != tc.code || tc.reason != "" && rpcerr.Reason(err) != tc.reason || !strings.Contains(fmt.Sprint(err), tc.says) {
				t.Errorf("%v (reason %s)", err, rpcerr.Reason(err))
			}
			if len(d.Specs()) != 0 {
				t.Error("something was run")
			}
		})
	}
}

func TestWhatIsMissingIsNamedForMachinesToo(t *testing.T) {
	d := &executiontest.Driver{}
	d.Find(executiontest.Missing())
	w := newWorld(t, d)
	_, err := w.execute(w.as("ann"), &sandboxv1.ExecuteRequest{Language: "python", Code: "x"})
	if !strings.Contains(fmt.Sprint(status.Convert(err).Details()), `"bubblewrap"`) {
		t.Errorf("%v", status.Convert(err).Details())
	}
	got, err := w.sandbox.GetCapabilities(w.as("ann"), &sandboxv1.GetCapabilitiesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Available || len(got.Checks) != 3 || got.Checks[0].Fix != "apt-get install bubblewrap" || got.Checks[2].Required {
		t.Errorf("%+v", got)
	}
}

func TestOverTheLimitOfWhatMayWait(t *testing.T) {
	free, running := make(chan struct{}), make(chan struct{}, 100)
	d := &executiontest.Driver{Program: func(context.Context, isolate.Spec) (isolate.Result, error) {
		running <- struct{}{}
		<-free
		return isolate.Result{Status: isolate.StatusOK}, nil
	}}
	w := newWorld(t, d, func(cfg *Config, _ *Deps) { cfg.Parallel, cfg.Queue = 4, 16 })
	var mu sync.Mutex
	var ok, busy int
	var all sync.WaitGroup
	over := make(chan struct{})
	for range 100 {
		all.Go(func() {
			_, err := w.execute(w.as("ann"), &sandboxv1.ExecuteRequest{Language: "python", Code: "x"})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				ok++
			case status.Code(err) == codes.ResourceExhausted && rpcerr.Reason(err) == ReasonBusy:
				if _, told := rpcerr.RetryDelay(err); !told {
					t.Error("not told when to try again")
				}
				if busy++; busy == 80 {
					close(over)
				}
			default:
				t.Error(err)
			}
		})
	}
	<-over
	close(free)
	all.Wait()
	if ok != 20 || busy != 80 || len(running) != 20 {
		t.Errorf("%d were run, %d were told to wait", ok, busy)
	}
}

func TestCloseEndsPrograms(t *testing.T) {
	begun := make(chan struct{}, 1)
	d := &executiontest.Driver{Program: func(ctx context.Context, _ isolate.Spec) (isolate.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return isolate.Result{Status: isolate.StatusCancelled}, nil
	}}
	w := newWorld(t, d)
	failed := make(chan error, 1)
	go func() {
		_, err := w.execute(w.as("ann"), &sandboxv1.ExecuteRequest{Language: "python", Code: "x"})
		failed <- err
	}()
	<-begun
	if err := w.svc.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; status.Code(err) != codes.Unavailable || rpcerr.Reason(err) != ReasonShuttingDown {
		t.Error(err)
	}
}

func TestAllThatAProgramWritesReachesItsCaller(t *testing.T) {
	const size = 3 << 20
	w := newWorld(t, &executiontest.Driver{Program: func(_ context.Context, s isolate.Spec) (isolate.Result, error) {
		for _, stream := range []io.Writer{s.Stdout, s.Stderr} {
			for range size / (32 << 10) {
				if _, err := stream.Write(make([]byte, 32<<10)); err != nil {
					return isolate.Result{}, err
				}
			}
		}
		return isolate.Result{Status: isolate.StatusOK}, nil
	}})
	for _, key := range []string{"", "k"} {
		got := w.run(&sandboxv1.ExecuteRequest{Language: "bash", Code: "x", EffectKey: key})
		if len(got.stdout) != size || len(got.stderr) != size || got.result.GetMessage() != "" {
			t.Errorf("key %q: %d and %d bytes of %d, %q", key, len(got.stdout), len(got.stderr), size, got.result.GetMessage())
		}
	}
}
