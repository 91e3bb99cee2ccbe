package suite

import (
	"context"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// inside leads to the services of this process. Services are given it when they
// are made, which is before there is a server; they may call when they run.
type inside struct {
	conn atomic.Pointer[grpc.ClientConn]
}

var errNotYet = rpcerr.New(codes.Unavailable, "STARTING", "the services of this process are not ready yet; try again")

// Invoke implements grpc.ClientConnInterface.
func (i *inside) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	conn := i.conn.Load()
	if conn == nil {
		return errNotYet
	}
	return conn.Invoke(ctx, method, args, reply, opts...)
}

// NewStream implements grpc.ClientConnInterface.
func (i *inside) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	conn := i.conn.Load()
	if conn == nil {
		return nil, errNotYet
	}
	return conn.NewStream(ctx, desc, method, opts...)
}

// absent stands for a service that this deployment does without, by its target.
type absent string

func (a absent) refuse() error {
	return rpcerr.New(codes.FailedPrecondition, "SERVICE_ABSENT",
		"this deployment has no %s: serve it, and set services.%s to its address", string(a), Setting(string(a)))
}

// Invoke implements grpc.ClientConnInterface.
func (a absent) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return a.refuse()
}

// NewStream implements grpc.ClientConnInterface.
func (a absent) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, a.refuse()
}

// Setting is how the configuration writes the name of a target.
func Setting(target string) string { return strings.ReplaceAll(target, "-", "_") }
