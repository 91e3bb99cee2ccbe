package rpc

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Sizes and times, with the defaults of the configuration first.
const (
	// DefaultUnaryTimeout bounds a unary call whose caller set no deadline.
	DefaultUnaryTimeout = 60 * time.Second
	// DefaultMaxRecvBytes is the largest request a server reads.
	DefaultMaxRecvBytes = 4 << 20
	// DefaultMaxClientRecvBytes is the largest answer a client reads.
	DefaultMaxClientRecvBytes = 16 << 20
	// DefaultMaxConcurrentStreams bounds the calls of one connection. The
	// gateway has one connection for everybody, so it is not small.
	DefaultMaxConcurrentStreams = 4096
	// DefaultRatePerSecond and DefaultBurst are a principal's calls. Calls that
	// a service makes for a user count as well, so they leave room for that.
	DefaultRatePerSecond = 100
	DefaultBurst         = 200

	// DefaultMaxConnectionAge lets clients find new replicas within minutes.
	// DefaultMaxConnectionAgeGrace is for the streams that are open then: it is
	// longer than a turn of a conversation. One that is longer still is cut with
	// UNAVAILABLE, and its reader goes on from the last event that it saw.
	DefaultMaxConnectionAge      = 5 * time.Minute
	DefaultMaxConnectionAgeGrace = 15 * time.Minute

	inProcessBufferBytes = 256 << 10
	maxHeaderBytes       = 64 << 10
	handshakeTimeout     = 10 * time.Second

	serverKeepaliveTime    = time.Minute
	serverKeepaliveTimeout = 20 * time.Second
	// The server closes connections that ping more often than this; clients of
	// ours ping less often.
	minClientPing          = 10 * time.Second
	clientKeepaliveTime    = 30 * time.Second
	clientKeepaliveTimeout = 10 * time.Second

	// A call that ignores its cancelled context holds a forced stop up no longer
	// than this.
	forcedStopGrace = 2 * time.Second
)

// Limits bound the calls of one principal over a server's whole surface.
type Limits struct {
	// RatePerSecond is the lasting rate; 0 means no limit.
	RatePerSecond float64
	// Burst is how many calls may come at once; 0 means RatePerSecond, rounded
	// up.
	Burst int
}

// ServerConfig configures a [Server]. The zero value of every field is
// usable; start from [DefaultServerConfig] for the limits.
type ServerConfig struct {
	// Logger gets one line a call. Nil means none.
	Logger *slog.Logger

	// Tokens knows the users of API tokens, which callers from outside the
	// process show. Nil: no token is good.
	Tokens *auth.TokenCache

	// Explain gives words for callers to errors of what the services stand on,
	// such as a database that is away. It is asked about errors that nobody
	// shaped, and answers nil for those that it does not know. Nil: none.
	Explain func(error) *rpcerr.Error

	// Verifier believes the identities that the other processes of the deployment
	// sign; its audiences are the services served here. Nil: callers from
	// outside show API tokens only.
	Verifier *auth.Verifier

	// TLS encrypts ServeTCP, and with a ClientCAFile asks clients for a
	// certificate. No CertFile: plaintext.
	TLS TLSConfig

	// MaxConnectionAge is when a client on TCP is asked to connect again, so that
	// it looks its DNS name up again and finds new replicas; what is under way
	// then has MaxConnectionAgeGrace to end. 0 means the defaults.
	MaxConnectionAge, MaxConnectionAgeGrace time.Duration

	// AnonymousPrincipal is who a caller on this machine is that shows no token.
	// It makes ServeTCP refuse any listener that is not on loopback. Nil: a
	// token is always needed.
	AnonymousPrincipal *auth.Principal

	// Limits bound each principal. The zero value means no limit.
	Limits Limits

	// UnaryTimeout is the deadline of unary calls that come without one;
	// 0 means DefaultUnaryTimeout.
	UnaryTimeout time.Duration
	// MethodTimeouts replaces UnaryTimeout for methods by full name
	// ("/nanoclaw.orchestrator.v1.ConversationService/SendMessage"); 0 means
	// that the method may take as long as it likes.
	MethodTimeouts map[string]time.Duration

	// MaxRecvBytes is the largest request; 0 means DefaultMaxRecvBytes.
	MaxRecvBytes int
	// MaxConcurrentStreams bounds the calls of one connection; 0 means
	// DefaultMaxConcurrentStreams.
	MaxConcurrentStreams uint32

	// MemoryUsage answers bytes in use and their limit, no limit being 0. Nil
	// reads the Go runtime and GOMEMLIMIT.
	MemoryUsage func() (used, limit uint64)

	// TracerProvider and MeterProvider take spans and metrics. Nil means the
	// global ones of package otel.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
}

// DefaultServerConfig is what a server has unless the configuration says
// otherwise.
func DefaultServerConfig() ServerConfig {
	return ServerConfig{
		Limits:               Limits{RatePerSecond: DefaultRatePerSecond, Burst: DefaultBurst},
		UnaryTimeout:         DefaultUnaryTimeout,
		MaxRecvBytes:         DefaultMaxRecvBytes,
		MaxConcurrentStreams: DefaultMaxConcurrentStreams,
	}
}

func (c ServerConfig) complete() (ServerConfig, error) {
	var errs []error
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.AnonymousPrincipal != nil {
		if err := c.AnonymousPrincipal.CheckUser(); err != nil {
			errs = append(errs, fmt.Errorf("AnonymousPrincipal: %w", err))
		}
	}
	if c.Limits.RatePerSecond < 0 || c.Limits.Burst < 0 {
		errs = append(errs, errors.New("limits must not be negative"))
	}
	if c.UnaryTimeout < 0 || c.MaxRecvBytes < 0 || c.MaxConnectionAge < 0 || c.MaxConnectionAgeGrace < 0 {
		errs = append(errs, errors.New("UnaryTimeout, MaxRecvBytes, MaxConnectionAge and its grace must not be negative"))
	}
	if c.TLS.CertFile == "" && (c.TLS.KeyFile != "" || c.TLS.ClientCAFile != "") {
		errs = append(errs, errors.New("TLS: key_file and client_ca_file are of no use to a server without cert_file"))
	}
	if c.UnaryTimeout == 0 {
		c.UnaryTimeout = DefaultUnaryTimeout
	}
	if c.MaxRecvBytes == 0 {
		c.MaxRecvBytes = DefaultMaxRecvBytes
	}
	if c.MaxConcurrentStreams == 0 {
		c.MaxConcurrentStreams = DefaultMaxConcurrentStreams
	}
	if c.MaxConnectionAge == 0 {
		c.MaxConnectionAge = DefaultMaxConnectionAge
	}
	if c.MaxConnectionAgeGrace == 0 {
		c.MaxConnectionAgeGrace = DefaultMaxConnectionAgeGrace
	}
	if c.MemoryUsage == nil {
		c.MemoryUsage = runtimeMemory
	}
	return c, errors.Join(errs...)
}
