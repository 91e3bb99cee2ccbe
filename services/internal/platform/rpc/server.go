package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Server serves gRPC on TCP and inside the process. Use: NewServer, register
// services, SetReady, ServeInProcess and ServeTCP in goroutines, Drain.
//
// It is a grpc.ServiceRegistrar.
type Server struct {
	cfg       ServerConfig
	inside    *grpc.Server // of the process: no TLS, connections do not age
	outside   *grpc.Server
	chain     []Interceptor
	health    *healthService
	validator *requestValidator
	inProcess *bufconn.Listener

	mu       sync.Mutex
	hooks    []drainHook
	drained  chan struct{} // closed when Drain is over
	draining bool
	drainErr error
}

// NewServer makes a server that has only the health service, which says
// NOT_SERVING until SetReady.
func NewServer(cfg ServerConfig) (*Server, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("gRPC server configuration: %w", err)
	}
	s := &Server{
		cfg:       cfg,
		health:    newHealthService(),
		inProcess: bufconn.Listen(inProcessBufferBytes),
		drained:   make(chan struct{}),
	}
	if s.validator, err = newRequestValidator(); err != nil {
		return nil, err
	}
	if s.chain, err = newChain(cfg, s.validator); err != nil {
		return nil, err
	}
	if err := s.makeServers(); err != nil {
		return nil, err
	}
	return s, nil
}

// makeServers makes the two servers, with the same chain.
func (s *Server) makeServers() error {
	cfg := s.cfg
	unary := make([]grpc.UnaryServerInterceptor, len(s.chain))
	stream := make([]grpc.StreamServerInterceptor, len(s.chain))
	for i, link := range s.chain {
		unary[i], stream[i] = link.Unary, link.Stream
	}
	common := []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(unary...),
		grpc.ChainStreamInterceptor(stream...),
		grpc.StatsHandler(otelgrpc.NewServerHandler(cfg.tracing()...)),
		grpc.MaxRecvMsgSize(cfg.MaxRecvBytes),
		grpc.MaxConcurrentStreams(cfg.MaxConcurrentStreams),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.WaitForHandlers(true),
	}
	outside := append(common[:len(common):len(common)],
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: serverKeepaliveTime, Timeout: serverKeepaliveTimeout,
			MaxConnectionAge: cfg.MaxConnectionAge, MaxConnectionAgeGrace: cfg.MaxConnectionAgeGrace,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minClientPing, PermitWithoutStream: true}))
	if cfg.TLS.CertFile != "" {
		encrypted, err := newReloadingTLS(cfg.TLS, cfg.TLS.forServer, cfg.Logger)
		if err != nil {
			return err
		}
		outside = append(outside, grpc.Creds(encrypted))
	}
	s.inside, s.outside = grpc.NewServer(common...), grpc.NewServer(outside...)
	s.health.register(s.inside)
	s.health.register(s.outside)
	return nil
}

// newChain is the whole chain in its order, outermost first.
func newChain(cfg ServerConfig, validator *requestValidator) ([]Interceptor, error) {
	meters := cfg.MeterProvider
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	measured, err := newInstruments(meters)
	if err != nil {
		return nil, fmt.Errorf("rpc metrics: %w", err)
	}
	limiter, err := newRateLimiter(cfg.Limits)
	if err != nil {
		return nil, err
	}
	loud, err := newOncePerPeer()
	if err != nil {
		return nil, err
	}
	caller := &authenticator{
		verifier: cfg.Verifier, tokens: cfg.Tokens, anonymous: cfg.AnonymousPrincipal, log: cfg.Logger, loud: loud,
	}
	guard := &memoryGuard{usage: cfg.MemoryUsage}
	return []Interceptor{
		recovery(cfg.Logger, measured.panics),
		step(convertErrors).link("errors"),
		step(requestID).link("requestid"),
		forCalls(logging(cfg.Logger)).link("logging"),
		forCalls(measured.measure).link("metrics"),
		forCalls(explaining(cfg.Explain)).link("explain"),
		forCalls(cfg.timeouts().step).link("deadline"),
		forCalls(caller.step).link("auth"),
		forCalls(limiter.step).link("ratelimit"),
		forCalls(guard.step).link("memory"),
		validator.link(),
	}, nil
}

// tracing are the options of both stats handlers: no spans for health checks,
// no event a message.
func (c ServerConfig) tracing() []otelgrpc.Option {
	return []otelgrpc.Option{
		otelgrpc.WithFilter(func(info *stats.RPCTagInfo) bool { return !isInfrastructure(info.FullMethodName) }),
		otelgrpc.WithTracerProvider(c.TracerProvider),
		otelgrpc.WithMeterProvider(c.MeterProvider),
	}
}

func (c ServerConfig) timeouts() timeouts {
	return timeouts{unary: c.UnaryTimeout, byMethod: c.MethodTimeouts}
}

// Chain is the chain of interceptors, outermost first.
func (s *Server) Chain() []Interceptor { return append([]Interceptor(nil), s.chain...) }

// RegisterService registers a service; before any Serve.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s.inside.RegisterService(desc, impl)
	s.outside.RegisterService(desc, impl)
	s.health.set(desc.ServiceName, false)
}

// SetReady compiles the validation rules of every registered request and then
// reports all services as SERVING. An error is a rule that does not compile.
func (s *Server) SetReady() error {
	if err := s.Warm(); err != nil {
		return err
	}
	for name := range s.outside.GetServiceInfo() {
		s.health.set(name, true)
	}
	s.health.set("", true)
	return nil
}

// SetServing reports one registered service as SERVING or not, by its full
// name; for a service that cannot work for the time being.
func (s *Server) SetServing(service string, serving bool) { s.health.set(service, serving) }

// Warm compiles the validation rules of every registered request, which would
// otherwise cost the first caller of each. SetReady does it too.
func (s *Server) Warm() error {
	var requests []protoreflect.MessageDescriptor
	for name, info := range s.outside.GetServiceInfo() {
		for _, m := range info.Methods {
			if d := methodDescriptor("/" + name + "/" + m.Name); d != nil {
				requests = append(requests, d.Input())
			}
		}
	}
	return s.validator.warm(requests)
}

// RegisterReflection lets admin, another gRPC server on a port that only
// operators reach, describe the services of s.
func (s *Server) RegisterReflection(admin grpc.ServiceRegistrar) {
	opts := reflection.ServerOptions{Services: s.outside}
	reflectionv1.RegisterServerReflectionServer(admin, reflection.NewServerV1(opts))
	reflectionv1alpha.RegisterServerReflectionServer(admin, reflection.NewServer(opts))
}

// ServeTCP serves callers from outside the process on lis until Drain; then it
// answers nil. It closes lis. Callers show a signed identity or an API token;
// with an AnonymousPrincipal lis must be on loopback.
func (s *Server) ServeTCP(lis net.Listener) error {
	if lis.Addr().Network() == inProcessNetwork {
		return errors.Join(errors.New("serve gRPC: an in-process listener is not for callers from outside"), lis.Close())
	}
	if s.cfg.AnonymousPrincipal != nil {
		if addr, ok := lis.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
			return errors.Join(fmt.Errorf("serve gRPC on %s: without tokens only a loopback address is served; use 127.0.0.1 or turn tokens on", lis.Addr()), lis.Close())
		}
	}
	if addr, ok := lis.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() && s.cfg.TLS.CertFile == "" {
		s.cfg.Logger.Warn("gRPC is served without TLS: tokens and identities cross the network in the clear; set tls.cert_file and tls.key_file, or keep this address on a private network",
			slog.String("addr", lis.Addr().String()))
	}
	return s.serve(s.outside, lis)
}

// ServeInProcess serves the connections of DialInProcess until Drain; then it
// answers nil.
func (s *Server) ServeInProcess() error { return s.serve(s.inside, s.inProcess) }

func (s *Server) serve(on *grpc.Server, lis net.Listener) error {
	s.cfg.Logger.LogAttrs(context.Background(), slog.LevelDebug, "serving gRPC",
		slog.String("network", lis.Addr().Network()), slog.String("addr", lis.Addr().String()))
	if err := on.Serve(lis); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve gRPC on %s: %w", lis.Addr(), err)
	}
	return nil
}
