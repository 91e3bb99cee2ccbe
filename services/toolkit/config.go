package toolkit

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc/metadata"
)

// Metadata of a CallTool request.
const (
	// MetadataUser names the user for whom the call is made. It is trusted only
	// because a provider listens to its orchestrator alone; a provider that
	// authenticates its callers sets Config.Caller instead.
	MetadataUser = "x-nanoclaw-user"
	// MetadataNotAfter is the time after which the call must not be started any
	// more, in unix milliseconds: the end of the lease under which it was planned.
	MetadataNotAfter = "x-not-after"
	// MetadataConversation is the id of the conversation for which the call is
	// made. It is missing for a call that is made without one.
	MetadataConversation = "x-conversation"
)

// Defaults and fixed limits of a provider.
const (
	// DefaultTimeout is the time of a call to a tool that names none.
	DefaultTimeout = 15 * time.Second
	// DefaultMaxTimeout caps the deadline that a caller may set.
	DefaultMaxTimeout = 10 * time.Minute
	// DefaultMaxResultBytes caps the JSON text of one result.
	DefaultMaxResultBytes = 16 << 20
	// DefaultMaxCalls caps the calls that run at once.
	DefaultMaxCalls = 256

	// pieceBytes is the size of the pieces in which a result is sent, well below
	// the 4 MiB that a gRPC message may have by default.
	pieceBytes = 1 << 20
	// maxGetCallBytes caps the result inside a GetCallResponse, one message.
	maxGetCallBytes = 3 << 20
	// progressInterval is the least time between two progress messages.
	progressInterval = 100 * time.Millisecond
	// handlerGrace is how long a tool that was told to stop may take to do so
	// before its call is ended without it.
	handlerGrace = time.Second
	// keyStoreTimeout bounds one operation on the key store.
	keyStoreTimeout = 10 * time.Second
	// maxEffectKeyBytes is the longest effect key, as in the contract.
	maxEffectKeyBytes = 128
)

// Config sets up a [Provider]. The zero value serves pure and opaque tools.
type Config struct {
	// Name of the provider, for logs.
	Name string
	// KeyStore remembers calls by effect key. Without one only pure and opaque
	// tools can be added.
	KeyStore KeyStore
	// Logger is told of panics, hidden errors and a failing key store; nil is
	// slog.Default().
	Logger *slog.Logger
	// Caller gives a stable id of who calls; equal effect keys of different
	// callers are different keys. nil reads the metadata [MetadataUser].
	Caller func(ctx context.Context) string
	// Now is the clock for [MetadataNotAfter]; nil is time.Now.
	Now func() time.Time
	// MaxResultBytes caps a result; 0 is [DefaultMaxResultBytes].
	MaxResultBytes int
	// DefaultTimeout is for tools without Timeout; 0 is [DefaultTimeout].
	DefaultTimeout time.Duration
	// MaxTimeout caps the deadline of a caller; 0 is [DefaultMaxTimeout].
	MaxTimeout time.Duration
	// MaxCalls caps the calls that run at once; 0 is [DefaultMaxCalls].
	MaxCalls int
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Name != "" {
		c.Logger = c.Logger.With("provider", c.Name)
	}
	if c.Caller == nil {
		c.Caller = func(ctx context.Context) string { return firstMetadata(ctx, MetadataUser) }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MaxResultBytes <= 0 {
		c.MaxResultBytes = DefaultMaxResultBytes
	}
	if c.DefaultTimeout <= 0 {
		c.DefaultTimeout = DefaultTimeout
	}
	if c.MaxTimeout <= 0 {
		c.MaxTimeout = DefaultMaxTimeout
	}
	if c.MaxCalls <= 0 {
		c.MaxCalls = DefaultMaxCalls
	}
	return c
}

func firstMetadata(ctx context.Context, key string) string {
	if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
		return values[0]
	}
	return ""
}
