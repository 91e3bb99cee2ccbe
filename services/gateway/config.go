package gateway

import (
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/guard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

// Sizes and times of [DefaultConfig].
const (
	DefaultMaxBodyBytes      = 1 << 20
	DefaultMaxUploadBytes    = 256 << 20
	DefaultBodyReadTimeout   = 30 * time.Second
	DefaultPingInterval      = 10 * time.Second
	DefaultEventWriteTimeout = 30 * time.Second
)

// Config of the gateway.
type Config struct {
	// ListenAddr is the address that HTTP is served on; its host may be asked
	// for. Empty: only loopback names may.
	ListenAddr string
	// AllowedHosts are more names or addresses, without port, by which this
	// server is known.
	AllowedHosts []string
	// MaxBodyBytes of a request.
	MaxBodyBytes int64
	// MaxUploadBytes of a request that sends files, with the form around them.
	MaxUploadBytes int64
	// BodyReadTimeout is how long a caller may take to send a body, and how long
	// one that sends files may send nothing.
	BodyReadTimeout time.Duration
	// PingInterval is the silence of a stream after which a ping is sent.
	PingInterval time.Duration
	// EventWriteTimeout is how long the reader of a stream may take to make room
	// for one event: after half of it the stream ends with a bye, after all of it
	// the connection is cut. It holds for each part of a file, too.
	EventWriteTimeout time.Duration
	// WebDir serves the web app from this folder instead of the one built in.
	WebDir string
	// Version of the product, for the OpenAPI document.
	Version string
}

// DefaultConfig holds the defaults of CONTRACT; only ListenAddr is left open.
func DefaultConfig() Config {
	return Config{
		MaxBodyBytes:      DefaultMaxBodyBytes,
		MaxUploadBytes:    DefaultMaxUploadBytes,
		BodyReadTimeout:   DefaultBodyReadTimeout,
		PingInterval:      DefaultPingInterval,
		EventWriteTimeout: DefaultEventWriteTimeout,
	}
}

// Deps are what the gateway works with.
type Deps struct {
	// Conn leads to every service that has no connection of its own below. Its
	// interceptor must send the principal of the context on.
	Conn grpc.ClientConnInterface
	// These lead to one service each; nil: Conn does.
	Orchestrator, Search, Fetcher, TaskManager, Sandbox grpc.ClientConnInterface
	// Tokens knows the users of API tokens: the cache that this process has for
	// its other doors too.
	Tokens *auth.TokenCache
	// Anonymous is who requests without a token are made for (--no-token); nil:
	// they are refused. Only on loopback.
	Anonymous *auth.Principal
	// TracerProvider of the gateway's spans; nil: the global one.
	TracerProvider trace.TracerProvider
	// Logger of the gateway; nil: slog.Default.
	Logger *slog.Logger
}

func (d Deps) orchestrator() grpc.ClientConnInterface { return orElse(d.Orchestrator, d.Conn) }
func (d Deps) search() grpc.ClientConnInterface       { return orElse(d.Search, d.Conn) }
func (d Deps) fetcher() grpc.ClientConnInterface      { return orElse(d.Fetcher, d.Conn) }
func (d Deps) taskManager() grpc.ClientConnInterface  { return orElse(d.TaskManager, d.Conn) }
func (d Deps) sandbox() grpc.ClientConnInterface      { return orElse(d.Sandbox, d.Conn) }

func orElse(own, shared grpc.ClientConnInterface) grpc.ClientConnInterface {
	if own != nil {
		return own
	}
	return shared
}

func (d Deps) check(cfg Config) error {
	if d.orchestrator() == nil || d.search() == nil || d.fetcher() == nil || d.taskManager() == nil || d.sandbox() == nil {
		return errors.New("a connection to every service is needed: set Deps.Conn")
	}
	if d.Tokens == nil {
		return errors.New("Deps.Tokens is missing: nobody would know whose tokens are whose")
	}
	if d.Anonymous != nil && !guard.IsLoopback(cfg.ListenAddr) {
		return errors.New("serving without a token is only allowed on a loopback address such as 127.0.0.1:3000")
	}
	if cfg.MaxBodyBytes <= 0 || cfg.MaxUploadBytes <= 0 {
		return errors.New("MaxBodyBytes and MaxUploadBytes must be positive: begin with gateway.DefaultConfig")
	}
	return nil
}
