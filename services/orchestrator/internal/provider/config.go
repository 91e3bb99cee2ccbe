package provider

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

// Defaults of Config.
const (
	DefaultFirstByteTimeout = 120 * time.Second
	DefaultIdleTimeout      = 60 * time.Second
	DefaultMaxLine          = 1 << 20 // bytes
	DefaultMaxMessage       = 8 << 20 // bytes
	DefaultMaxCalls         = 128
)

// Limits that are not configurable.
const (
	maxErrorBody = 64 << 10 // bytes of an error answer that are read
	maxDetail    = 500      // characters of a provider's own words that are kept
	maxRequestID = 128      // characters of a provider's id of a call
	maxModelName = 200      // characters of the model's name in an answer
	maxBadFrames = 8        // unreadable frames skipped before giving up
	maxWarnings  = 16
	maxRetryWait = 24 * time.Hour // Retry-After beyond this is cut
)

// Config describes one model at one endpoint. The zero value of every field
// but Model and APIURL is good.
type Config struct {
	// Model is the name that the provider knows the model by.
	Model string
	// APIURL is the endpoint's base address, with or without /v1, with or
	// without /chat/completions.
	APIURL string
	// APIKey is sent as a bearer token, or in the header that the profile names;
	// empty sends none (local servers). It appears in no error, log or String.
	APIKey config.Secret
	// KeyOrigin is where APIKey came from, for the words of an error; zero:
	// nothing is said.
	KeyOrigin config.SecretOrigin
	// Headers are sent with every request and win over our own.
	Headers map[string]string

	// Profile says what is particular about the endpoint.
	Profile Profile
	// Thinking switches it on or off; empty leaves it to the provider. It is
	// refused where the profile has no switch.
	Thinking Thinking
	// ToolMode is how tools are offered; empty: as the profile says, else native.
	ToolMode ToolMode

	// FirstByteTimeout is the longest wait between sending the request and the
	// first byte of the answer's body.
	FirstByteTimeout time.Duration
	// IdleTimeout is the longest silence after that. Any byte counts, so a
	// keep-alive comment keeps the call alive.
	IdleTimeout time.Duration

	// MaxLine limits one line of the stream, MaxMessage the whole answer, both
	// in bytes; MaxCalls limits the tool calls of one answer.
	MaxLine    int
	MaxMessage int
	MaxCalls   int

	// HTTPTransport sends the request; nil means a transport of the client's
	// own. It is used directly, so redirects are never followed.
	HTTPTransport http.RoundTripper
}

// String describes the configuration without its secrets.
func (c Config) String() string {
	key := "no key"
	if c.APIKey != "" {
		key = "key set"
	}
	return fmt.Sprintf("%s at %s (%s)", c.Model, displayURL(c.APIURL), key)
}

// GoString is String, so that %#v shows no secret either.
func (c Config) GoString() string { return "provider.Config{" + c.String() + "}" }

// Validate reports what New would refuse, naming the configuration key to correct.
func (c Config) Validate() error {
	_, err := c.withDefaults().check()
	return err
}

// check returns the address to call when everything is as it must be.
func (c Config) check() (*url.URL, error) {
	model := strings.TrimSpace(c.Model)
	if model == "" {
		return nil, errors.New("model name is empty: set models[].name to the name the provider uses")
	}
	if err := cmp.Or(c.Profile.valid(), c.Profile.Check(c.Thinking, c.ToolMode)); err != nil {
		return nil, fmt.Errorf("model %q: %w", model, err)
	}
	endpoint, err := endpointURL(c.APIURL, c.Profile.BasePath)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", model, err)
	}
	if strings.ContainsFunc(strings.TrimSpace(c.APIKey.Reveal()), func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
		return nil, fmt.Errorf("model %q: api_key holds white space or characters outside ASCII: it was not copied cleanly", model)
	}
	return endpoint, nil
}

// header sets what every request of the client has: its name, the key, and the
// configured headers, which win.
func (c Config) header(h http.Header) {
	h.Set("User-Agent", "NanoClaw")
	h.Del("Authorization")
	if key := c.APIKey.Reveal(); key != "" {
		if c.Profile.KeyHeader == "" {
			h.Set("Authorization", "Bearer "+key)
		} else {
			h.Set(c.Profile.KeyHeader, key)
		}
	}
	for name, value := range c.Headers {
		h.Set(name, value)
	}
}

// Tools is how tools are offered where ToolMode may be empty.
func (c Config) Tools() ToolMode { return cmp.Or(c.ToolMode, c.Profile.ToolMode, ToolsNative) }

// withDefaults fills what was left zero.
func (c Config) withDefaults() Config {
	if c.FirstByteTimeout <= 0 {
		c.FirstByteTimeout = DefaultFirstByteTimeout
	}
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = DefaultIdleTimeout
	}
	if c.MaxLine <= 0 {
		c.MaxLine = DefaultMaxLine
	}
	if c.MaxMessage <= 0 {
		c.MaxMessage = DefaultMaxMessage
	}
	if c.MaxCalls <= 0 {
		c.MaxCalls = DefaultMaxCalls
	}
	c.ToolMode = c.Tools()
	if c.ToolMode == ToolsPrompted {
		c.Profile.TextCalls = Hermes // as the tools' description asks for it
	}
	return c
}
