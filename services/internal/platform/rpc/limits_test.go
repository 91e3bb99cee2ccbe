package rpc_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestUnaryCallsGetADeadline(t *testing.T) {
	for _, tc := range []struct {
		name     string
		deadline time.Duration // of the caller; 0: none
		methods  map[string]time.Duration
		want     time.Duration // 0: none
	}{
		{"none given: the server's", 0, nil, time.Minute},
		{"a shorter one is kept", time.Second, nil, time.Second},
		{"a longer one is kept", time.Hour, nil, time.Hour},
		{"a method with its own", 0, map[string]time.Duration{wantChat: 5 * time.Minute}, 5 * time.Minute},
		{"a method without any", 0, map[string]time.Duration{wantChat: 0}, 0},
		{"another method's is its own", 0, map[string]time.Duration{wantAny: time.Hour}, time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var left time.Duration
				r := start(t, &handlers{unary: func(ctx context.Context) error {
					left = 0
					if at, ok := ctx.Deadline(); ok {
						left = time.Until(at)
					}
					return nil
				}}, func(c *rpc.ServerConfig) { c.MethodTimeouts, c.Tokens = tc.methods, auth.NewTokenCache(exchange) })
				defer r.stop()
				for name, conn := range map[string]*grpc.ClientConn{"inside": r.inside(), "outside": r.stranger()} {
					ctx := auth.NewContext(with(t, "authorization", "Bearer nc_all"), user)
					if tc.deadline != 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, tc.deadline)
						defer cancel()
					}
					if err := call(ctx, conn, wantChat); err != nil || left != tc.want {
						t.Errorf("%s: the handler had %v, want %v (%v)", name, left, tc.want, err)
					}
				}
			})
		})
	}
}

func TestHandlerThatHangsEndsAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &handlers{unary: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}, withExchange)
		defer r.stop()
		begin := time.Now()
		err := call(with(t, "authorization", "Bearer nc_all"), r.stranger(), wantChat)
		requireStatus(t, err, codes.DeadlineExceeded, "DEADLINE_EXCEEDED")
		if took := time.Since(begin); took != rpc.DefaultUnaryTimeout {
			t.Errorf("took %v, want %v", took, rpc.DefaultUnaryTimeout)
		}
	})
}

func TestStreamsHaveNoDeadline(t *testing.T) {
	r := start(t, &handlers{watch: func(s grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
		if at, ok := s.Context().Deadline(); ok {
			t.Errorf("the stream ends at %v", at)
		}
		return nil
	}}, nil)
	stream, err := orchestratorv1.NewRunServiceClient(r.inside()).WatchRun(as(t, user), &orchestratorv1.WatchRunRequest{RunId: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = stream.Recv()
}

func TestRateLimitIsPerPrincipalAndSaysWhenToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &handlers{}, func(c *rpc.ServerConfig) { c.Limits = rpc.Limits{RatePerSecond: 2, Burst: 3} })
		defer r.stop()
		conn := r.inside()
		for i := range 3 {
			if err := getRun(as(t, user), conn); err != nil {
				t.Fatalf("call %d of the burst: %v", i, err)
			}
		}
		err := getRun(as(t, user), conn)
		requireStatus(t, err, codes.ResourceExhausted, rpc.ReasonRateLimited)
		if d, ok := rpcerr.RetryDelay(err); !ok || d != 500*time.Millisecond {
			t.Errorf("retry after %v, %v; want 500ms", d, ok)
		}
		if err := getRun(as(t, auth.UserPrincipal("u2", "*")), conn); err != nil {
			t.Errorf("another user: %v", err)
		}
		for range 10 {
			if err := getRun(as(t, auth.ServicePrincipal("gateway")), conn); err != nil {
				t.Fatalf("a service that calls for itself: %v", err)
			}
		}
		for range 10 {
			if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
				t.Fatalf("health: %v", err)
			}
		}
		time.Sleep(500 * time.Millisecond)
		if err := getRun(as(t, user), conn); err != nil {
			t.Errorf("after the time that was said: %v", err)
		}
		requireStatus(t, getRun(as(t, user), conn), codes.ResourceExhausted, rpc.ReasonRateLimited)
	})
}

func TestMemoryGuardRefusesNewCallsButNotHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used, limit atomic.Uint64
		r := start(t, &handlers{}, func(c *rpc.ServerConfig) {
			c.MemoryUsage = func() (uint64, uint64) { return used.Load(), limit.Load() }
		})
		defer r.stop()
		conn := r.inside()
		for _, tc := range []struct {
			name        string
			used, limit uint64
			refused     bool
		}{
			{"no limit", 1 << 40, 0, false},
			{"at 90 %", 900, 1000, false},
			{"over 90 %", 901, 1000, true},
			{"over the limit", 1200, 1000, true},
			{"back under", 500, 1000, false},
		} {
			used.Store(tc.used)
			limit.Store(tc.limit)
			time.Sleep(100 * time.Millisecond) // the sample's age
			err := getRun(as(t, user), conn)
			if !tc.refused {
				if err != nil {
					t.Errorf("%s: %v", tc.name, err)
				}
				continue
			}
			requireStatus(t, err, codes.ResourceExhausted, rpc.ReasonMemory)
			if d, ok := rpcerr.RetryDelay(err); !ok || d != time.Second {
				t.Errorf("%s: retry after %v, %v", tc.name, d, ok)
			}
			if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
				t.Errorf("%s: health: %v", tc.name, err)
			}
		}
	})
}
