package rpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// serveTCP serves r on a loopback port too and answers its address.
func serveTCP(t *testing.T, r *running) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.ServeTCP(lis) }()
	stop := r.stop
	r.stop = func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("ServeTCP = %v", err)
		}
	}
	return lis.Addr().String()
}

func TestDialOverTCPShowsTheTokenAndNoPrincipal(t *testing.T) {
	var seen auth.Principal
	r := start(t, &handlers{unary: func(ctx context.Context) (err error) { seen, err = auth.Require(ctx); return err }}, withExchange)
	addr := serveTCP(t, r)
	conn, err := rpc.Dial("dns:///"+addr, rpc.DialConfig{Token: "nc_all"})
	r.keep(conn, err)
	if err := call(as(t, auth.ServicePrincipal("gateway")), conn, wantChat); err != nil || seen.UserID != "u1" {
		t.Errorf("the handler saw %+v, %v", seen, err)
	}
	requireStatus(t, call(as(t, auth.ServicePrincipal("gateway")), conn, wantService), codes.PermissionDenied, rpc.ReasonServiceOnly)
}

func TestOnlyNamedServicesAreRetried(t *testing.T) {
	var tries atomic.Int32
	r := start(t, &handlers{unary: func(context.Context) error {
		if tries.Add(1) < 3 {
			return rpcerr.New(codes.Unavailable, "RESTARTING", "restarting")
		}
		return nil
	}}, withExchange)
	addr := serveTCP(t, r)
	for _, tc := range []struct {
		name  string
		cfg   rpc.DialConfig
		tries int32
		code  codes.Code
	}{
		{"nothing named", rpc.DialConfig{}, 1, codes.Unavailable},
		{"the service", rpc.DialConfig{RetryServices: []string{"nanoclaw.orchestrator.v1.RunService"}}, 3, codes.OK},
		{"the method", rpc.DialConfig{RetryMethods: []string{wantChat}}, 3, codes.OK},
		{"another method", rpc.DialConfig{RetryMethods: []string{wantAny}}, 1, codes.Unavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tries.Store(0)
			tc.cfg.Token = "nc_all"
			conn, err := rpc.Dial(addr, tc.cfg)
			r.keep(conn, err)
			reason := ""
			if tc.code != codes.OK {
				reason = "RESTARTING"
			}
			requireStatus(t, call(t.Context(), conn, wantChat), tc.code, reason)
			if tries.Load() != tc.tries {
				t.Errorf("the handler ran %d times, want %d", tries.Load(), tc.tries)
			}
		})
	}
}

func TestDialSaysWhichTargetIsWrong(t *testing.T) {
	if _, err := rpc.Dial("dns://%zz", rpc.DialConfig{}); err == nil || !strings.Contains(err.Error(), "dns://%zz") {
		t.Errorf("error = %v, want the target in it", err)
	}
}

func TestBigAnswersAndBigRequests(t *testing.T) {
	size := 0
	r := start(t, &handlers{watch: func(s grpc.ServerStreamingServer[orchestratorv1.RunEvent]) error {
		return s.Send(&orchestratorv1.RunEvent{Event: &orchestratorv1.RunEvent_Message{Message: &orchestratorv1.TextPiece{Content: strings.Repeat("x", size)}}})
	}}, nil)
	conn := r.inside()
	watch := func() error {
		stream, err := orchestratorv1.NewRunServiceClient(conn).WatchRun(as(t, user), &orchestratorv1.WatchRunRequest{RunId: "r1"})
		if err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	size = 8 << 20
	if err := watch(); err != nil {
		t.Errorf("an answer of 8 MiB: %v", err)
	}
	size = 17 << 20
	requireStatus(t, watch(), codes.ResourceExhausted, "")

	_, err := orchestratorv1.NewRunServiceClient(conn).GetRun(as(t, user), &orchestratorv1.GetRunRequest{RunId: strings.Repeat("x", 5<<20)})
	requireStatus(t, err, codes.ResourceExhausted, "")
}

func TestReflectionIsOnTheAdminServerOnly(t *testing.T) {
	r := start(t, &handlers{}, nil)
	admin := grpc.NewServer()
	r.RegisterReflection(admin)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- admin.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { conn.Close(); admin.Stop(); <-served }()

	list := func(conn *grpc.ClientConn) (*reflectionv1.ServerReflectionResponse, error) {
		stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
		if err != nil {
			return nil, err
		}
		if err := stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}); err != nil && !errors.Is(err, io.EOF) { // EOF: Recv has the reason
			return nil, err
		}
		return stream.Recv()
	}
	got, err := list(conn)
	if err != nil || !strings.Contains(got.String(), "nanoclaw.orchestrator.v1.RunService") {
		t.Errorf("admin lists %v, %v", got, err)
	}
	_, err = list(r.stranger())
	requireStatus(t, err, codes.Unimplemented, "")
}
