package httpfetch

import "time"

// Sizes used by the defaults, in bytes.
const (
	kib = 1 << 10
	mib = 1 << 20
)

// Config holds the limits of a Client. Every field must be set; start from
// DefaultConfig.
type Config struct {
	// UserAgent is sent with every request.
	UserAgent string
	// Timeout bounds one Get with all its redirects, retries and waits. A
	// context that ends earlier wins.
	Timeout time.Duration
	// MaxRetries is how often a failed attempt is repeated (0: never).
	MaxRetries int
	// BackoffBase is the upper bound of the first wait; it doubles a retry.
	BackoffBase time.Duration
	// MaxRetryAfter is the longest Retry-After that is waited for; a longer
	// one is handed to the caller with the answer.
	MaxRetryAfter time.Duration
	// DialTimeout, TLSTimeout and HeaderTimeout bound the three steps before
	// the first byte of an answer; IdleTimeout each wait for more of its body.
	DialTimeout, TLSTimeout, HeaderTimeout, IdleTimeout time.Duration
	// MaxHeaderBytes bounds the response header.
	MaxHeaderBytes int64
	// MaxRawBytes bounds the body as it comes over the wire.
	MaxRawBytes int64
	// MaxDecodedBytes bounds the body after each layer of content coding.
	MaxDecodedBytes int64
	// MaxRedirects is how many redirects are followed.
	MaxRedirects int
}

// DefaultConfig is the fetch layer's policy where nobody says otherwise.
func DefaultConfig() Config {
	return Config{
		UserAgent:       "Mozilla/5.0 (compatible; NanoClaw/1.0; +https://github.com/nanoclaw/nanoclaw)",
		Timeout:         30 * time.Second,
		MaxRetries:      2,
		BackoffBase:     500 * time.Millisecond,
		MaxRetryAfter:   60 * time.Second,
		DialTimeout:     5 * time.Second,
		TLSTimeout:      5 * time.Second,
		HeaderTimeout:   15 * time.Second,
		IdleTimeout:     10 * time.Second,
		MaxHeaderBytes:  64 * kib,
		MaxRawBytes:     10 * mib,
		MaxDecodedBytes: 30 * mib,
		MaxRedirects:    10,
	}
}
