package execution

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/admission"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution/executiontest"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/output"
)

var spans = tracetest.NewSpanRecorder()

func TestMain(m *testing.M) {
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	goleak.VerifyTestMain(m)
}

// folders keeps workspaces below a folder of the test.
type folders struct {
	dir string
	err error

	mu      sync.Mutex
	changed []string
}

func (f *folders) Use(user, workspace string) (string, func(), error) {
	if f.err != nil {
		return "", nil, f.err
	}
	dir := filepath.Join(f.dir, user, workspace)
	return dir, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changed = append(f.changed, user+"/"+workspace)
	}, os.MkdirAll(dir, 0o700)
}

// newRunner makes a runner on a driver.
func newRunner(t *testing.T, d *executiontest.Driver) *Runner {
	t.Helper()
	count, err := noop.Meter{}.Int64Counter("executions")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	return &Runner{
		Driver: d, Machine: &Machine{Driver: d, Log: log}, Queue: admission.New(2, 8),
		Workspaces: &folders{dir: t.TempDir()}, Limits: isolate.DefaultLimits(),
		Log: log, Tracer: otel.Tracer("test"), Count: count,
	}
}

// run runs a program and wants it to be run.
func run(t *testing.T, r *Runner, req Request) Result {
	t.Helper()
	result, err := r.Run(t.Context(), req, output.NewCapture(), Events{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// ends is a program that ends this way.
func ends(r isolate.Result) func(context.Context, isolate.Spec) (isolate.Result, error) {
	return func(context.Context, isolate.Spec) (isolate.Result, error) { return r, nil }
}

// untilKilled is a program that runs until it is killed.
func untilKilled(ctx context.Context, _ isolate.Spec) (isolate.Result, error) {
	<-ctx.Done()
	return isolate.Result{Status: isolate.StatusCancelled, ExitCode: 137, Signal: "SIGKILL"}, nil
}
