package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

var user = auth.UserPrincipal("u1", "*")

func TestChainOrder(t *testing.T) {
	s, err := rpc.NewServer(rpc.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, link := range s.Chain() {
		if link.Unary == nil || link.Stream == nil {
			t.Errorf("%s treats only one kind of call", link.Name)
		}
		names = append(names, link.Name)
	}
	want := []string{"recovery", "errors", "requestid", "logging", "metrics", "explain", "deadline", "auth", "ratelimit", "memory", "validate"}
	if !slices.Equal(names, want) {
		t.Errorf("chain = %v, want %v", names, want)
	}
}

// lines is a log that calls on several goroutines write to.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestPanicBecomesInternalAndIsLoggedAndCounted(t *testing.T) {
	var log lines
	reader := sdkmetric.NewManualReader()
	h := &handlers{
		unary: func(context.Context) error { panic("index out of range: secret") },
		watch: func(grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error { panic("in a stream") },
	}
	r := start(t, h, func(c *rpc.ServerConfig) {
		c.Logger = log.logger()
		c.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	})
	conn := r.inside()

	err := getRun(as(t, user), conn)
	requireStatus(t, err, codes.Internal, "INTERNAL")
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the caller sees the panic: %v", err)
	}
	stream, err := orchestratorv1.NewRunServiceClient(conn).WatchRun(as(t, user), &orchestratorv1.WatchRunRequest{RunId: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	requireStatus(t, err, codes.Internal, "INTERNAL")

	h.unary = nil
	if err := getRun(as(t, user), conn); err != nil {
		t.Errorf("the server does not go on after a panic: %v", err)
	}
	for _, want := range []string{"index out of range: secret", "chain_test.go", "in a stream"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, log.String())
		}
	}
	sums := collect(t, reader)
	for name, want := range map[string]int64{
		"nanoclaw.rpc.server.panics GetRun":   1,
		"nanoclaw.rpc.server.panics WatchRun": 1,
		"nanoclaw.rpc.server.active GetRun":   0,
		"nanoclaw.rpc.server.active WatchRun": 0,
		"nanoclaw.rpc.server.failures GetRun": 1,
	} {
		if sums[name] != want {
			t.Errorf("%s = %d, want %d", name, sums[name], want)
		}
	}
}

// collect sums up the counters by "name Method".
func collect(t *testing.T, reader *sdkmetric.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	sums := make(map[string]int64)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			data, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				continue
			}
			for _, point := range data.DataPoints {
				method, _ := point.Attributes.Value("rpc.method")
				_, name, _ := strings.Cut(method.AsString(), "/")
				sums[m.Name+" "+name] += point.Value
			}
		}
	}
	return sums
}

func TestErrorsAreConvertedOnceAndLoggedWhole(t *testing.T) {
	cause := errors.New("sqlite: disk is full")
	for _, tc := range []struct {
		name   string
		err    error
		code   codes.Code
		reason string
		log    []string
	}{
		{"an unshaped error tells the caller nothing", fmt.Errorf("save run: %w", cause), codes.Internal, "INTERNAL",
			[]string{"level=ERROR", "save run: sqlite: disk is full"}},
		{"a shaped error keeps its reason", fmt.Errorf("load: %w", rpcerr.NotFound("run", "r1").WithCause(cause)), codes.NotFound, "NOT_FOUND",
			[]string{"level=INFO", "reason=NOT_FOUND", "disk is full"}},
		{"a passed deadline", fmt.Errorf("query: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "DEADLINE_EXCEEDED",
			[]string{"level=WARN"}},
		{"a call that comes while the service is being stopped", rpcerr.New(codes.Unavailable, "SHUTTING_DOWN", "being stopped"), codes.Unavailable, "SHUTTING_DOWN",
			[]string{"level=DEBUG", "reason=SHUTTING_DOWN"}},
		{"a good call is a debug line", nil, codes.OK, "",
			[]string{"level=DEBUG", "method=/nanoclaw.orchestrator.v1.RunService/GetRun", "principal=user/u1", "request_id=req-1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log lines
			r := start(t, &handlers{unary: func(context.Context) error { return tc.err }},
				func(c *rpc.ServerConfig) { c.Logger = log.logger() })
			err := getRun(rpc.WithRequestID(as(t, user), "req-1"), r.inside())
			if status.Code(err) != tc.code || rpcerr.Reason(err) != tc.reason {
				t.Errorf("got %v, want %v %s", err, tc.code, tc.reason)
			}
			if err != nil && strings.Contains(err.Error(), "disk is full") {
				t.Errorf("the caller sees the cause: %v", err)
			}
			for _, want := range tc.log {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %q in the log:\n%s", want, log.String())
				}
			}
		})
	}
}

func TestRequestIDIsTakenOverMadeAndPassedOn(t *testing.T) {
	var seen string
	r := start(t, &handlers{unary: func(ctx context.Context) error { seen = rpc.RequestID(ctx); return nil }}, nil)
	conn := r.inside()
	for _, tc := range []struct {
		name, given string
		kept        bool
	}{
		{"a good one is kept", "req-1.A_b", true},
		{"none is made up", "", false},
		{"one with blanks is replaced", "a b", false},
		{"one that is too long is replaced", strings.Repeat("a", 65), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var header metadata.MD
			ctx := as(t, user)
			if tc.given != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, rpc.HeaderRequestID, tc.given)
			}
			if err := getRun(ctx, conn, grpc.Header(&header)); err != nil {
				t.Fatal(err)
			}
			if answered := header.Get(rpc.HeaderRequestID); len(answered) != 1 || answered[0] != seen || seen == "" {
				t.Errorf("answered %v, handler saw %q", answered, seen)
			}
			if tc.kept != (seen == tc.given) {
				t.Errorf("given %q, handler saw %q", tc.given, seen)
			}
		})
	}
	var trailer metadata.MD
	err := getRun(rpc.WithRequestID(as(t, auth.UserPrincipal("u1")), "refused"), conn, grpc.Trailer(&trailer))
	requireStatus(t, err, codes.PermissionDenied, rpc.ReasonScopeMissing)
	if got := trailer.Get(rpc.HeaderRequestID); len(got) != 1 || got[0] != "refused" {
		t.Errorf("a refused call's request id = %v", got)
	}
	if err := getRun(rpc.WithRequestID(as(t, user), "from-the-gateway"), conn); err != nil || seen != "from-the-gateway" {
		t.Errorf("the context's request id did not travel: %q, %v", seen, err)
	}
	if id := rpc.RequestID(t.Context()); id != "" {
		t.Errorf("request id outside of a call = %q", id)
	}
}

func TestConfigThatMakesNoSense(t *testing.T) {
	service := auth.ServicePrincipal("x")
	for _, tc := range []struct {
		name string
		cfg  rpc.ServerConfig
		want string
	}{
		{"an anonymous service", rpc.ServerConfig{AnonymousPrincipal: &service}, "AnonymousPrincipal: must be a user"},
		{"a negative rate", rpc.ServerConfig{Limits: rpc.Limits{RatePerSecond: -1}}, "limits must not be negative"},
		{"a negative timeout", rpc.ServerConfig{UnaryTimeout: -1}, "UnaryTimeout"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := rpc.NewServer(tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q in it", err, tc.want)
			}
		})
	}
}
