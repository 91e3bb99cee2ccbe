package rpc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
)

func openWatch(t *testing.T, conn *grpc.ClientConn) grpc.ServerStreamingClient[orchestratorv1.RunEvent] {
	t.Helper()
	stream, err := orchestratorv1.NewRunServiceClient(conn).WatchRun(as(t, user), &orchestratorv1.WatchRunRequest{RunId: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	return stream
}

var ping = &orchestratorv1.RunEvent{Event: &orchestratorv1.RunEvent_Ping{Ping: &orchestratorv1.Ping{}}}

func TestDrainSaysByeToOpenStreamsAndFinishesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		draining := make(chan struct{})
		r := start(t, &handlers{
			unary: func(context.Context) error { time.Sleep(3 * time.Second); return nil },
			watch: func(s grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
				if err := s.Send(ping); err != nil {
					return err
				}
				<-draining
				return s.Send(&orchestratorv1.RunEvent{Event: &orchestratorv1.RunEvent_Bye{Bye: &orchestratorv1.Bye{Reason: "drain", Resume: true}}})
			},
		}, nil)
		defer r.stop()
		conn := r.inside()
		stream := openWatch(t, conn)
		health := healthpb.NewHealthClient(r.inside())
		watch, err := health.Watch(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := watch.Recv(); err != nil || got.Status != healthpb.HealthCheckResponse_SERVING {
			t.Fatalf("health before = %v, %v", got, err)
		}
		slow := make(chan error, 1)
		go func() { slow <- getRun(as(t, user), conn) }()
		synctest.Wait()

		r.OnDrain("orchestrator", func(ctx context.Context) error {
			got, err := health.Check(ctx, &healthpb.HealthCheckRequest{Service: "nanoclaw.orchestrator.v1.RunService"})
			if err != nil || got.Status != healthpb.HealthCheckResponse_NOT_SERVING {
				t.Errorf("health when hooks run = %v, %v", got, err)
			}
			close(draining)
			return nil
		})
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.Drain(ctx); err != nil {
			t.Errorf("Drain = %v", err)
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("Drain took %v, want the 3 s of the call under way", took)
		}
		if got, err := stream.Recv(); err != nil || got.GetBye().GetReason() != "drain" {
			t.Errorf("stream got %v, %v; want bye", got, err)
		}
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("stream ended with %v, want EOF", err)
		}
		if err := <-slow; err != nil {
			t.Errorf("the call under way: %v", err)
		}
		for err = nil; err == nil; _, err = watch.Recv() {
		}
		if err := getRun(as(t, user), conn); status.Code(err) != codes.Unavailable {
			t.Errorf("a call after the end: %v", err)
		}
		if err := r.Drain(ctx); err != nil {
			t.Errorf("a second Drain = %v", err)
		}
	})
}

func TestDrainCutsWhatIsLeftAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		r := start(t, &handlers{watch: func(s grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
			defer ended.Store(true)
			if err := s.Send(ping); err != nil {
				return err
			}
			<-s.Context().Done() // knows of no drain
			return s.Context().Err()
		}}, nil)
		defer r.stop()
		stream := openWatch(t, r.inside())
		r.OnDrain("orchestrator", func(context.Context) error { return errors.New("lease table is locked") })

		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := r.Drain(ctx)
		for _, want := range []string{"drain orchestrator: lease table is locked", "have been cut"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Drain = %v, want %q in it", err, want)
			}
		}
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("Drain took %v, want 10s", took)
		}
		if !ended.Load() {
			t.Error("Drain did not wait for the cut call to return")
		}
		if _, err := stream.Recv(); status.Code(err) != codes.Unavailable && status.Code(err) != codes.Canceled {
			t.Errorf("the stream ended with %v", err)
		}
	})
}

func TestDrainDoesNotHangOnACallThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := start(t, &handlers{watch: func(s grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
			if err := s.Send(ping); err != nil {
				return err
			}
			<-release
			return nil
		}}, nil)
		defer r.stop()
		openWatch(t, r.inside())
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Drain(ctx); err == nil || !strings.Contains(err.Error(), "do not end") {
			t.Errorf("Drain = %v", err)
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("Drain took %v, want 1 s and 2 s of grace", took)
		}
		close(release)
	})
}

func TestHealthIsNotServingBeforeReady(t *testing.T) {
	s, err := rpc.NewServer(rpc.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	orchestratorv1.RegisterRunServiceServer(s, &handlers{})
	served := make(chan error, 1)
	go func() { served <- s.ServeInProcess() }()
	conn, err := s.DialInProcess(rpc.DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { conn.Close(); _ = s.Drain(cancelled()); <-served }()
	for _, want := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_NOT_SERVING, healthpb.HealthCheckResponse_SERVING} {
		for _, service := range []string{"", "nanoclaw.orchestrator.v1.RunService"} {
			got, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
			if err != nil || got.Status != want {
				t.Errorf("health of %q = %v, %v; want %v", service, got, err, want)
			}
		}
		if err := s.SetReady(); err != nil {
			t.Fatal(err)
		}
	}
}
