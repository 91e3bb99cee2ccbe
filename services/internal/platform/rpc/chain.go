package rpc

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"
)

// Interceptor is one link of the chain.
type Interceptor struct {
	// Name of the link, as listed in the package comment.
	Name   string
	Unary  grpc.UnaryServerInterceptor
	Stream grpc.StreamServerInterceptor
}

// method is what a link may know of the call beside its context.
type method struct {
	full   string // "/package.Service/Method"
	stream bool
}

// step is the work of a link that treats unary calls and streams alike. It may
// change the context, refuse the call with an error, and ask to see how the
// call ended: finish gets the call's error and answers the error to go on with.
type step func(ctx context.Context, m method) (_ context.Context, finish func(error) error, _ error)

// errPanicked is the end of a call whose handler panicked, as the links between
// the handler and recovery see it.
var errPanicked = errors.New("the handler panicked")

func (s step) link(name string) Interceptor {
	return Interceptor{
		Name: name,
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
			ctx, finish, err := s(ctx, method{full: info.FullMethod})
			if err != nil {
				return nil, err
			}
			if finish != nil {
				err = errPanicked // unless handler returns
				defer func() { err = finish(err) }()
			}
			resp, err = handler(ctx, req)
			return resp, err
		},
		Stream: func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
			ctx, finish, err := s(stream.Context(), method{full: info.FullMethod, stream: true})
			if err != nil {
				return err
			}
			if finish != nil {
				err = errPanicked
				defer func() { err = finish(err) }()
			}
			err = handler(srv, &contextStream{ServerStream: stream, ctx: ctx})
			return err
		},
	}
}

// forCalls makes a step pass health checks and reflection: they are asked by
// machines at all times and by nobody in particular.
func forCalls(s step) step {
	return func(ctx context.Context, m method) (context.Context, func(error) error, error) {
		if isInfrastructure(m.full) {
			return ctx, nil, nil
		}
		return s(ctx, m)
	}
}

func isInfrastructure(fullMethod string) bool {
	return strings.HasPrefix(fullMethod, "/grpc.health.") || strings.HasPrefix(fullMethod, "/grpc.reflection.")
}

// contextStream is a stream with another context.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *contextStream) Context() context.Context { return s.ctx }
