package search

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/search/internal/bing"
	"github.com/nanoclaw/nanoclaw/services/search/internal/duckduckgo"
)

// Bounds of a search, the same for every caller.
const (
	// MinQueryRunes and MaxQueryRunes bound a query without the white space
	// around it.
	MinQueryRunes = 2
	MaxQueryRunes = 400
	// MaxResultsCap is the most results of one search.
	MaxResultsCap = 10
)

const (
	defaultMaxResults     = 5
	defaultCallsPerMinute = 10
	// A tool call has 15 s: two attempts and a turn in the queue fit in.
	defaultAttemptTimeout = 6 * time.Second
	defaultQueueWait      = 4 * time.Second
	// defaultMinGap is the distance at which engines tolerate being scraped.
	defaultMinGap = 2 * time.Second
)

// Config is what an operator may set.
type Config struct {
	// Adapter is the engine to use: bing, duckduckgo or duckduckgo_lite; api
	// and brave are accepted and answer that they are not available. Empty
	// means bing, with duckduckgo when bing cannot answer. One that is named
	// is never replaced by another.
	Adapter string `config:"adapter"`
	// MaxResults is how many results a search gives when the caller does not
	// say, 1 to MaxResultsCap.
	MaxResults int `config:"max_results"`
	// CallsPerMinute is how many searches each user may make in any minute, up
	// to ratelimit.MaxN; 0 means no limit.
	CallsPerMinute int `config:"calls_per_minute"`
	// AttemptTimeout bounds one question to one engine, the wait for its turn
	// not counted.
	AttemptTimeout time.Duration `config:"attempt_timeout"`
	// QueueWait is the longest wait for an engine's turn.
	QueueWait time.Duration `config:"queue_wait"`
	// Market is the Bing market for queries whose script does not tell their
	// language, such as en-US.
	Market string `config:"market"`

	Bing           EngineConfig `config:"bing"`
	DuckDuckGo     EngineConfig `config:"duckduckgo"`
	DuckDuckGoLite EngineConfig `config:"duckduckgo_lite"`
}

// EngineConfig is what an operator may set for one engine.
type EngineConfig struct {
	// BaseURL replaces the engine's own scheme and host, for a mirror or a
	// proxy. It may be a private address; where it redirects to may not.
	BaseURL string `config:"base_url"`
	// MinGap is the least distance between two requests. 0 means 2 s at the
	// engine's own address and none at a BaseURL; less than 0 means none.
	MinGap time.Duration `config:"min_gap"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		MaxResults:     defaultMaxResults,
		CallsPerMinute: defaultCallsPerMinute,
		AttemptTimeout: defaultAttemptTimeout,
		QueueWait:      defaultQueueWait,
		Market:         bing.DefaultMarket,
	}
}

// defaultOrder is asked when nobody names an engine.
func defaultOrder() []string { return []string{bing.Name, duckduckgo.NameHTML} }

// Validate reports every setting that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.MaxResults < 1 || c.MaxResults > MaxResultsCap {
		errs = append(errs, fmt.Errorf("search.max_results is %d: it must be 1 to %d", c.MaxResults, MaxResultsCap))
	}
	if c.CallsPerMinute < 0 || c.CallsPerMinute > ratelimit.MaxN {
		errs = append(errs, fmt.Errorf("search.calls_per_minute is %d: it must be 0 (no limit) to %d", c.CallsPerMinute, ratelimit.MaxN))
	}
	if c.AttemptTimeout <= 0 {
		errs = append(errs, fmt.Errorf("search.attempt_timeout is %s: it must be longer than 0", c.AttemptTimeout))
	}
	if c.QueueWait < 0 {
		errs = append(errs, fmt.Errorf("search.queue_wait is %s: it must be 0 or longer", c.QueueWait))
	}
	for _, e := range []struct {
		name string
		cfg  EngineConfig
	}{{bing.Name, c.Bing}, {duckduckgo.NameHTML, c.DuckDuckGo}, {duckduckgo.NameLite, c.DuckDuckGoLite}} {
		if err := e.cfg.validate(); err != nil {
			errs = append(errs, fmt.Errorf("search.%s.base_url: %w", e.name, err))
		}
	}
	return errors.Join(errs...)
}

func (e EngineConfig) validate() error {
	if e.BaseURL == "" {
		return nil
	}
	u, err := url.Parse(e.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("give an absolute http or https address, such as https://search.example.com")
	case u.User != nil:
		return errors.New("an address with a password in it ends up in logs; put the engine behind a proxy that adds it")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("give scheme, host and path alone: the query is added")
	}
	return nil
}

// gap is the distance between requests that follows from the settings.
func (e EngineConfig) gap() time.Duration {
	switch {
	case e.MinGap < 0, e.MinGap == 0 && e.BaseURL != "":
		return 0
	case e.MinGap == 0:
		return defaultMinGap
	}
	return e.MinGap
}
