package fetcher

import (
	"errors"
	"fmt"
	"time"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
)

// Limits that are part of the contract.
const (
	// defaultMaxChars is how many characters of text one answer holds when the
	// caller does not say.
	defaultMaxChars = 10_000
	// minMaxChars and maxMaxChars bound what a caller may ask for.
	minMaxChars = 100
	maxMaxChars = 1_000_000
	// maxContentBytes is how much extracted content of one page can be read,
	// over all its pages of paging.
	maxContentBytes = 1 << 20
	// maxDocumentText is the same for a document that is sent to Extract, and
	// maxDocumentBytes is how large that may be.
	maxDocumentText  = 8 << 20
	maxDocumentBytes = 32 << 20
	// maxDocuments is how many documents are sent at the same time.
	maxDocuments = 8
	// maxLinks and maxImages are how many one answer holds.
	maxLinks  = 100
	maxImages = 50
	// toolTimeout bounds one fetch_page call, its fetch and reading included.
	toolTimeout = 60 * time.Second
	// maxFetches is how many fetches of one process run at the same time.
	maxFetches = 64
)

// Config is the `crawler` section of the configuration.
type Config struct {
	// MaxWorkers is how many pages are parsed and read at the same time.
	MaxWorkers int `config:"max_workers"`
	// TimeoutSeconds bounds one fetch with its redirects and retries, in
	// seconds.
	TimeoutSeconds int `config:"timeout"`
	// MaxRetries is how often a fetch is repeated after a passing failure.
	MaxRetries int `config:"max_retries"`
	// UserAgent is sent to every server.
	UserAgent string `config:"user_agent"`
	// MaxBatches is how many batches of crawl tasks, each of one host, are
	// fetched at the same time.
	MaxBatches int `config:"max_batches"`
}

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	net := httpfetch.DefaultConfig()
	return Config{
		MaxWorkers:     5,
		TimeoutSeconds: int(net.Timeout / time.Second),
		MaxRetries:     net.MaxRetries,
		UserAgent:      net.UserAgent,
		MaxBatches:     8,
	}
}

// Validate names every value that is out of range.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.MaxWorkers >= 1 && c.MaxWorkers <= 256, "crawler.max_workers is %d; it must be 1 to 256", c.MaxWorkers)
	check(c.TimeoutSeconds >= 1 && c.TimeoutSeconds <= 300, "crawler.timeout is %d; it must be 1 to 300 seconds", c.TimeoutSeconds)
	check(c.MaxRetries >= 0 && c.MaxRetries <= 10, "crawler.max_retries is %d; it must be 0 to 10", c.MaxRetries)
	check(c.UserAgent != "" && isHeaderValue(c.UserAgent), "crawler.user_agent must be one line of printable characters")
	check(c.MaxBatches >= 1 && c.MaxBatches <= 256, "crawler.max_batches is %d; it must be 1 to 256", c.MaxBatches)
	return errors.Join(errs...)
}

func isHeaderValue(s string) bool {
	for _, b := range []byte(s) {
		if b < 0x20 || b == 0x7f {
			return false
		}
	}
	return true
}

// http gives the fetch layer its limits.
func (c Config) http() httpfetch.Config {
	h := httpfetch.DefaultConfig()
	h.Timeout = time.Duration(c.TimeoutSeconds) * time.Second
	h.MaxRetries = c.MaxRetries
	h.UserAgent = c.UserAgent
	return h
}
