package rpc_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// replica counts its calls and may fail them.
type replica struct {
	*running
	calls atomic.Int32
	fails atomic.Bool
}

// replicas starts two servers on TCP and answers a target that stands for both,
// as a DNS name with two addresses does.
func replicas(t *testing.T) (a, b *replica, target string) {
	t.Helper()
	var addrs []resolver.Address
	started := func() *replica {
		one := &replica{}
		one.running = start(t, &handlers{unary: func(context.Context) error {
			one.calls.Add(1)
			if one.fails.Load() {
				return rpcerr.New(codes.Unavailable, "RESTARTING", "restarting")
			}
			return nil
		}}, believes(t, 'a', "orchestrator"))
		addrs = append(addrs, resolver.Address{Addr: serveTCP(t, one.running)})
		return one
	}
	a, b = started(), started()
	scheme := strings.ToLower(t.Name())
	names := manual.NewBuilderWithScheme(scheme)
	names.InitialState(resolver.State{Addresses: addrs})
	resolver.Register(names)
	return a, b, scheme + ":///replicas"
}

func dialReplicas(t *testing.T, r *running, target string, retry ...string) *grpc.ClientConn {
	t.Helper()
	conn, err := rpc.Dial(target, rpc.DialConfig{Signer: signerOf(t, 'a', "gateway"), Audience: "orchestrator", RetryMethods: retry})
	return r.keep(conn, err)
}

// callUntil calls until done says so; connections come up one after the other.
func callUntil(t *testing.T, conn *grpc.ClientConn, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(as(t, user), 10*time.Second)
	defer cancel()
	for !done() {
		if err := getRun(ctx, conn, grpc.WaitForReady(true)); ctx.Err() != nil {
			t.Fatalf("it never came to that: %v", err)
		}
	}
}

func TestCallsGoRoundAllReplicas(t *testing.T) {
	a, b, target := replicas(t)
	conn := dialReplicas(t, a.running, target)
	callUntil(t, conn, func() bool { return a.calls.Load() > 0 && b.calls.Load() > 0 })
	a.calls.Store(0)
	b.calls.Store(0)
	for range 100 {
		if err := getRun(as(t, user), conn); err != nil {
			t.Fatal(err)
		}
	}
	if a.calls.Load() != 50 || b.calls.Load() != 50 {
		t.Errorf("the replicas got %d and %d calls, want 50 each", a.calls.Load(), b.calls.Load())
	}
}

func TestReplicaThatIsNotServingGetsNothing(t *testing.T) {
	a, b, target := replicas(t)
	b.SetServing("", false)
	conn := dialReplicas(t, a.running, target)
	callUntil(t, conn, func() bool { return a.calls.Load() >= 50 })
	if n := b.calls.Load(); n != 0 {
		t.Errorf("the replica that is not serving got %d calls", n)
	}
	b.SetServing("", true)
	callUntil(t, conn, func() bool { return b.calls.Load() > 0 })
	a.SetServing("", false)
	callUntil(t, conn, func() bool { // a's health is watched, so it stops soon
		was := a.calls.Load()
		for range 4 {
			if err := getRun(as(t, user), conn); err != nil {
				t.Fatal(err)
			}
		}
		return a.calls.Load() == was
	})
	b.SetServing("", false)
	ctx, cancel := context.WithTimeout(as(t, user), 10*time.Second)
	defer cancel()
	var err error
	for err == nil && ctx.Err() == nil {
		err = getRun(ctx, conn)
	}
	if status.Code(err) != codes.Unavailable {
		t.Errorf("nobody serves: %v, want UNAVAILABLE", err)
	}
}

// A stranger's provider of tools may not speak grpc.health.v1.
func TestServerWithoutHealthServiceCountsAsHealthy(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stranger := grpc.NewServer()
	seen := make(chan metadata.MD, 1)
	orchestratorv1.RegisterRunServiceServer(stranger, &handlers{unary: func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		seen <- md
		return nil
	}})
	served := make(chan error, 1)
	go func() { served <- stranger.Serve(lis) }()
	conn, err := rpc.Dial(lis.Addr().String(), rpc.DialConfig{Signer: signerOf(t, 'a', "orchestrator"), Audience: "provider:weather"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { conn.Close(); stranger.Stop(); <-served }()
	if err := getRun(auth.WithRun(as(t, user), "r1"), conn); err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewVerifier(deploymentKey('a').Public().(ed25519.PublicKey), "provider:weather")
	if err != nil {
		t.Fatal(err)
	}
	p, claims, err := verifier.Verify(strings.Join((<-seen)[auth.IdentityHeader], ""))
	if err != nil || p.UserID != "u1" || claims.Issuer != "orchestrator" || claims.Run != "r1" {
		t.Errorf("the stranger reads %+v, %+v, %v", p, claims, err)
	}
}

// A draining replica gives its calls to the other one, and no caller notices.
func TestReplicaIsTakenOutWithoutAFailedCall(t *testing.T) {
	a, b, target := replicas(t)
	conn := dialReplicas(t, a.running, target, wantChat)
	callUntil(t, conn, func() bool { return a.calls.Load() > 0 && b.calls.Load() > 0 })
	drained := make(chan error, 1)
	go func() { drained <- b.Drain(t.Context()) }()
	for over := false; !over; {
		select {
		case err := <-drained:
			if err != nil {
				t.Error(err)
			}
			over = true
		default:
		}
		if err := getRun(as(t, user), conn); err != nil {
			t.Fatalf("a call failed: %v", err)
		}
	}
}

func TestRetriesGoToAnotherReplicaAndForNamedMethodsOnly(t *testing.T) {
	a, b, target := replicas(t)
	retrying, plain := dialReplicas(t, a.running, target, wantChat), dialReplicas(t, a.running, target)
	for _, conn := range []*grpc.ClientConn{retrying, plain} {
		a.calls.Store(0)
		b.calls.Store(0)
		callUntil(t, conn, func() bool { return a.calls.Load() > 0 && b.calls.Load() > 0 })
	}
	b.fails.Store(true)
	// Not more calls than the throttle allows to fail in a row.
	b.calls.Store(0)
	if err := getRun(as(t, user), retrying); err != nil {
		t.Errorf("a call is not repeated elsewhere: %v", err)
	}
	if err := getRun(as(t, user), retrying); err != nil {
		t.Errorf("a call is not repeated elsewhere: %v", err)
	}
	if b.calls.Load() == 0 {
		t.Error("no call came to the replica that fails")
	}
	failed := 0
	for range 2 {
		if err := getRun(as(t, user), plain); err != nil {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d of 2 calls failed without retries, want 1", failed)
	}
}

// Connections from outside are renewed so that new replicas are found; those in
// the process are not.
func TestConnectionsFromOutsideAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &handlers{watch: func(s grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
			for {
				if err := s.Send(&orchestratorv1.RunEvent{}); err != nil {
					return err
				}
				select {
				case <-s.Context().Done():
					return s.Context().Err()
				case <-time.After(time.Minute):
				}
			}
		}}, withExchange)
		outside, inside := r.stranger(), r.inside()
		lasts := func(ctx context.Context, conn *grpc.ClientConn) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			begin := time.Now()
			stream, err := orchestratorv1.NewRunServiceClient(conn).WatchRun(ctx, &orchestratorv1.WatchRunRequest{RunId: "r1"})
			for err == nil {
				_, err = stream.Recv()
			}
			return time.Since(begin), err
		}
		if took, err := lasts(as(t, user), inside); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("in the process a stream ends after %s with %v", took, err)
		}
		took, err := lasts(with(t, "authorization", "Bearer nc_all"), outside)
		oldest := rpc.DefaultMaxConnectionAge + rpc.DefaultMaxConnectionAgeGrace
		if status.Code(err) != codes.Unavailable || errors.Is(err, io.EOF) || took < oldest-time.Minute || took > oldest+time.Minute {
			t.Errorf("from outside a stream ends after %s with %v, want UNAVAILABLE after about %s", took, err, oldest)
		}
		if err := getRun(with(t, "authorization", "Bearer nc_all"), outside); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}
