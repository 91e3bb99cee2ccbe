package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution/executiontest"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		os.Exit(beVictim(dir))
	}
	goleak.VerifyTestMain(m)
}

// world is a service that is served in memory.
type world struct {
	t       *testing.T
	svc     *Service
	sandbox sandboxv1.SandboxServiceClient
	files   sandboxv1.WorkspaceServiceClient
	tools   toolv1.ToolProviderServiceClient
}

// newWorld serves a service whose programs are those of a driver; nil: real
// ones.
func newWorld(t *testing.T, d *executiontest.Driver, change ...func(*Config, *Deps)) *world {
	t.Helper()
	lane := storetest.Fresh(t)
	cfg, deps := DefaultConfig(), Deps{
		DataDir: t.TempDir(), Database: store.Config{Driver: lane.Driver, DSN: lane.DSN},
		SingleUser: true, Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&cfg, &deps)
	}
	driver := func() (isolate.Driver, error) { return d, nil }
	if d == nil {
		driver = func() (isolate.Driver, error) { return newDriver(cfg, deps.SingleUser) }
	}
	svc, err := newService(t.Context(), cfg, deps, driver)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, svc)
}

func serve(t *testing.T, svc *Service) *world {
	t.Helper()
	server, err := rpc.NewServer(rpc.ServerConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	svc.Register(server)
	svc.RegisterTools(server)
	conn, err := server.DialInProcess(rpc.DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 2)
	go func() { served <- server.ServeInProcess() }()
	if err := server.SetReady(); err != nil {
		t.Fatal(err)
	}
	runs, stop := context.WithCancel(context.Background())
	go func() { served <- svc.Run(runs) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		stop()
		if err := errors.Join(conn.Close(), svc.Close(), server.Drain(ctx), <-served, <-served); err != nil {
			t.Error(err)
		}
	})
	return &world{
		t: t, svc: svc, sandbox: sandboxv1.NewSandboxServiceClient(conn),
		files: sandboxv1.NewWorkspaceServiceClient(conn), tools: toolv1.NewToolProviderServiceClient(conn),
	}
}

// isolated is a world of real sandboxes.
func isolated(t *testing.T, change ...func(*Config, *Deps)) *world {
	t.Helper()
	w := newWorld(t, nil, change...)
	caps := w.svc.machine.Capabilities(t.Context())
	if missing := caps.Missing(); len(missing) > 0 {
		t.Skipf("this machine makes no sandboxes: %v", &isolate.Unavailable{Missing: missing})
	}
	return w
}

// as is the context of a user.
func (w *world) as(user string) context.Context {
	return auth.NewContext(w.t.Context(), auth.UserPrincipal(user, auth.ScopeAll))
}

// heard is what a caller of Execute got.
type heard struct {
	started        *sandboxv1.ExecutionStarted
	stdout, stderr []byte
	result         *sandboxv1.ExecutionResult
}

// execute runs a program to its end, which may be an error.
func (w *world) execute(ctx context.Context, req *sandboxv1.ExecuteRequest) (h heard, err error) {
	stream, err := w.sandbox.Execute(ctx, req)
	if err != nil {
		return h, err
	}
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return h, err
		}
		if h.result != nil {
			w.t.Error("something comes after the result")
		}
		switch event := msg.GetEvent().(type) {
		case *sandboxv1.ExecuteResponse_Started:
			h.started = event.Started
		case *sandboxv1.ExecuteResponse_Stdout:
			h.stdout = append(h.stdout, event.Stdout...)
		case *sandboxv1.ExecuteResponse_Stderr:
			h.stderr = append(h.stderr, event.Stderr...)
		case *sandboxv1.ExecuteResponse_Result:
			h.result = event.Result
		}
		if h.started == nil {
			w.t.Error("something comes before started")
		}
	}
}

// run is execute for ann of a program that must be run.
func (w *world) run(req *sandboxv1.ExecuteRequest) heard {
	w.t.Helper()
	h, err := w.execute(w.as("ann"), req)
	if err != nil {
		w.t.Fatal(err)
	}
	if h.result == nil {
		w.t.Fatal("there is no result")
	}
	return h
}

// call calls a tool for ann.
func (w *world) call(ctx context.Context, name, key string, args any) (toolkit.Outcome, error) {
	w.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	req := &toolv1.CallToolRequest{Name: name, ArgumentsJson: string(text), EffectKey: key}
	return toolkit.Invoke(ctx, w.tools, req, toolkit.InvokeOptions{})
}

type args map[string]any
