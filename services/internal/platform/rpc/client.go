package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

const (
	reconnectBase = 100 * time.Millisecond
	reconnectMax  = 5 * time.Second // grpc-go's own 120 s outlasts any restart
	connectMin    = 5 * time.Second
)

// DialConfig configures a client connection. Every zero value is usable.
type DialConfig struct {
	// Token is an API token, sent with every call of [Dial]. It is not used in
	// the process.
	Token string

	// Signer signs the principal of each call's context for the service Audience:
	// "search", or "provider:<name>" for a foreign provider of tools. It is for
	// [Dial], and excludes Token.
	Signer   *auth.Signer
	Audience string

	// TLS encrypts the connections of [Dial]; the zero value is plaintext.
	TLS TLSConfig
	// Logger gets what people should know of a connection. Nil means none.
	Logger *slog.Logger

	// UnaryTimeout is the deadline of unary calls whose context has none; 0
	// means DefaultUnaryTimeout (in the process, that of the server).
	UnaryTimeout time.Duration
	// MethodTimeouts is as in ServerConfig. In the process, the server's hold
	// unless this is set.
	MethodTimeouts map[string]time.Duration

	// MaxRecvBytes is the largest answer; 0 means DefaultMaxClientRecvBytes.
	MaxRecvBytes int

	// RetryServices names services ("nanoclaw.search.v1.SearchService") and
	// RetryMethods single methods by full name whose calls are repeated, at most
	// twice, when the server answers UNAVAILABLE. Only what changes nothing
	// belongs here: UNAVAILABLE may come after the work was done. A call that
	// provably never reached a handler is repeated by gRPC in any case.
	RetryServices []string
	RetryMethods  []string

	// TracerProvider and MeterProvider are as in ServerConfig.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
}

// Dial connects to servers in another process. The target is a gRPC name such
// as "127.0.0.1:3001" or "dns:///search:3001"; calls are spread over all of its
// addresses whose servers are healthy (grpc.health.v1; one that does not know
// that service counts as healthy). Nothing is dialled before the first call.
//
// With a Signer the principal in the context of each call travels with it, and
// a call without one goes out without an identity. Without a Signer the other
// side sees the user of the Token.
func Dial(target string, cfg DialConfig) (*grpc.ClientConn, error) {
	if err := CheckTarget(target); err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	if cfg.Token != "" && cfg.Signer != nil {
		return nil, fmt.Errorf("dial %s: %w", target, errTwoIdentities)
	}
	if cfg.Signer != nil && cfg.Audience == "" {
		return nil, fmt.Errorf("dial %s: identities are signed for an audience, and it is missing", target)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	transport, err := cfg.transport(target)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", target, err)
	}
	c := &caller{token: cfg.Token, signs: cfg.Signer != nil, timeouts: cfg.timeouts()}
	opts := append(cfg.options(c),
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(cfg.serviceConfig(true)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: clientKeepaliveTime, Timeout: clientKeepaliveTimeout}))
	if cfg.Signer != nil {
		opts = append(opts, grpc.WithPerRPCCredentials(identityCredentials{cfg.Signer, cfg.Audience}))
	}
	conn, err := grpc.NewClient(target, opts...)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", target, err)
	}
	return conn, nil
}

// DialInProcess connects to s without a network. The principal in the context
// of each call (auth.NewContext) travels with it; a call without one is refused
// unless its method is open to anyone.
func (s *Server) DialInProcess(cfg DialConfig) (*grpc.ClientConn, error) {
	if cfg.UnaryTimeout == 0 {
		cfg.UnaryTimeout = s.cfg.UnaryTimeout
	}
	if cfg.MethodTimeouts == nil {
		cfg.MethodTimeouts = s.cfg.MethodTimeouts
	}
	if cfg.TracerProvider == nil {
		cfg.TracerProvider = s.cfg.TracerProvider
	}
	if cfg.MeterProvider == nil {
		cfg.MeterProvider = s.cfg.MeterProvider
	}
	c := &caller{inProcess: true, timeouts: cfg.timeouts()}
	conn, err := grpc.NewClient("passthrough:///in-process", append(cfg.options(c),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(cfg.serviceConfig(false)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return s.inProcess.DialContext(ctx)
		}))...)
	if err != nil {
		return nil, fmt.Errorf("dial in process: %w", err)
	}
	return conn, nil
}

func (c DialConfig) timeouts() timeouts {
	unary := c.UnaryTimeout
	if unary == 0 {
		unary = DefaultUnaryTimeout
	}
	return timeouts{unary: unary, byMethod: maps.Clone(c.MethodTimeouts)}
}

func (c DialConfig) options(via *caller) []grpc.DialOption {
	maxRecv := c.MaxRecvBytes
	if maxRecv == 0 {
		maxRecv = DefaultMaxClientRecvBytes
	}
	tracing := ServerConfig{TracerProvider: c.TracerProvider, MeterProvider: c.MeterProvider}.tracing()
	return []grpc.DialOption{
		grpc.WithStatsHandler(otelgrpc.NewClientHandler(tracing...)),
		grpc.WithChainUnaryInterceptor(via.unary),
		grpc.WithChainStreamInterceptor(via.stream),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxRecv)),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectBase, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMax},
			MinConnectTimeout: connectMin,
		}),
	}
}

// transport is TLS or plaintext; plaintext says so when it should not be.
func (c DialConfig) transport(target string) (credentials.TransportCredentials, error) {
	if c.TLS.Enabled() {
		return newReloadingTLS(c.TLS, c.TLS.forClient, c.Logger)
	}
	if (c.Token != "" || c.Signer != nil) && !isLocalTarget(target) {
		c.Logger.Warn("calls carry a token or an identity over the network without TLS; set tls.ca_file, or keep this on a private network",
			slog.String("target", target))
	}
	return insecure.NewCredentials(), nil
}

// serviceConfig is gRPC's service config: calls go round all addresses, those
// that say that they are not serving left out, and what may be repeated is,
// while not too many attempts fail.
func (c DialConfig) serviceConfig(watchHealth bool) string {
	type object = map[string]any
	config := object{"loadBalancingConfig": []object{{"round_robin": object{}}}}
	if watchHealth {
		config["healthCheckConfig"] = object{"serviceName": ""}
	}
	var names []object
	for _, s := range c.RetryServices {
		names = append(names, object{"service": s})
	}
	for _, m := range c.RetryMethods {
		service, name := splitMethod(m)
		names = append(names, object{"service": service, "method": name})
	}
	if len(names) > 0 {
		config["methodConfig"] = []object{{"name": names, "retryPolicy": object{
			"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
			"retryableStatusCodes": []string{"UNAVAILABLE"},
		}}}
		config["retryThrottling"] = object{"maxTokens": 10, "tokenRatio": 0.1}
	}
	text, err := json.Marshal(config)
	if err != nil { // maps of strings and numbers always encode
		panic(err)
	}
	return string(text)
}

// caller prepares each call of a connection.
type caller struct {
	inProcess bool
	token     string
	signs     bool // the credentials of the connection add an identity
	timeouts  timeouts
}

func (c *caller) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, cancel := c.timeouts.bound(ctx, method)
	defer cancel()
	return invoke(c.outgoing(ctx), method, req, reply, cc, opts...)
}

func (c *caller) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(c.outgoing(ctx), desc, cc, method, opts...)
}

// outgoing writes identity and request id into the metadata. Whatever was there
// under those keys is dropped: it may have come with a request from outside,
// carried along by a gateway.
func (c *caller) outgoing(ctx context.Context) context.Context {
	given, _ := metadata.FromOutgoingContext(ctx)
	md := make(metadata.MD, len(given)+6)
	for key, values := range given {
		if !auth.IsReserved(key) && (key != headerAuthorization || !c.inProcess && !c.signs) {
			md[key] = values
		}
	}
	if id := RequestID(ctx); id != "" {
		md.Set(HeaderRequestID, id)
	}
	if c.token != "" {
		md.Set(headerAuthorization, "Bearer "+c.token)
	}
	if p, ok := auth.FromContext(ctx); ok && c.inProcess {
		maps.Copy(md, auth.ToMetadata(p))
	}
	return metadata.NewOutgoingContext(ctx, md)
}
