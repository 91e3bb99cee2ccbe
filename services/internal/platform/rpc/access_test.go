package rpc_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/emptypb"

	optionsv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/options/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
)

// Methods without the option, and open ones, are not in our contracts yet.
func TestUnstatedAndOpenMethods(t *testing.T) {
	registerTestProto(t)
	s, err := rpc.NewServer(rpc.ServerConfig{Tokens: auth.NewTokenCache(exchange)})
	if err != nil {
		t.Fatal(err)
	}
	method := func(name string) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(srv any, ctx context.Context, dec func(any) error, chain grpc.UnaryServerInterceptor) (any, error) {
			req := new(emptypb.Empty)
			if err := dec(req); err != nil {
				return nil, err
			}
			return chain(ctx, req, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/nanoclaw.rpctest.v1.Doors/" + name},
				func(context.Context, any) (any, error) { return new(emptypb.Empty), nil })
		}}
	}
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "nanoclaw.rpctest.v1.Doors", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{method("Open"), method("Unstated"), method("Unspecified"), method("Unknown")}}, struct{}{})
	lis := newPipeListener()
	served := make(chan error, 1)
	go func() { served <- s.ServeTCP(lis) }()
	r := &running{Server: s, t: t, outside: lis}
	t.Cleanup(func() { r.conns[0].Close(); _ = s.Drain(cancelled()); <-served })
	conn := r.stranger()

	for name, want := range map[string]codes.Code{
		"Open": codes.OK, "Unstated": codes.Unauthenticated, "Unspecified": codes.Unauthenticated, "Unknown": codes.Unauthenticated,
	} {
		err := conn.Invoke(t.Context(), "/nanoclaw.rpctest.v1.Doors/"+name, &emptypb.Empty{}, &emptypb.Empty{})
		if status.Code(err) != want {
			t.Errorf("%s without a token: %v, want %v", name, err, want)
		}
		err = conn.Invoke(with(t, "authorization", "Bearer nc_search"), "/nanoclaw.rpctest.v1.Doors/"+name, &emptypb.Empty{}, &emptypb.Empty{})
		if err != nil {
			t.Errorf("%s with a user's token: %v", name, err)
		}
	}
}

// registerTestProto adds nanoclaw.rpctest.v1.Doors to the linked protos, once a
// process.
func registerTestProto(t *testing.T) {
	t.Helper()
	if _, err := protoregistry.GlobalFiles.FindFileByPath("rpctest.proto"); err == nil {
		return
	}
	access := func(c optionsv1.Caller) *descriptorpb.MethodOptions {
		o := &descriptorpb.MethodOptions{}
		proto.SetExtension(o, optionsv1.E_Access, &optionsv1.Access{Caller: c})
		return o
	}
	method := func(name string, o *descriptorpb.MethodOptions) *descriptorpb.MethodDescriptorProto {
		return &descriptorpb.MethodDescriptorProto{Name: &name, InputType: new(".google.protobuf.Empty"), OutputType: new(".google.protobuf.Empty"), Options: o}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("rpctest.proto"), Package: new("nanoclaw.rpctest.v1"), Syntax: new("proto3"),
		Dependency: []string{"google/protobuf/empty.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("Doors"), Method: []*descriptorpb.MethodDescriptorProto{
			method("Open", access(optionsv1.Caller_CALLER_ANYONE)),
			method("Unstated", nil),
			method("Unspecified", access(optionsv1.Caller_CALLER_UNSPECIFIED)),
		}}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	if err := protoregistry.GlobalFiles.RegisterFile(file); err != nil {
		t.Fatal(err)
	}
}
