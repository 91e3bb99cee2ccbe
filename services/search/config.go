package search

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/bing"
)

// Bounds of a search, the same for every caller.
const (
	// MinQueryRunes and MaxQueryRunes bound a query without the white space
	// around it.
	MinQueryRunes = 2
	MaxQueryRunes = 400
	// MaxResultsCap is the most results of one search.
	MaxResultsCap = 10
	// MaxPage is the last page that can be asked for; most engines have fewer.
	MaxPage = 50
	// MaxPassageTokens is the largest budget for passages.
	MaxPassageTokens = 32768
	// MaxProviders is how many engines a search can name.
	MaxProviders = 4
)

const (
	defaultMaxResults     = 5
	defaultCallsPerMinute = 10
	// A tool call has 15 s: two attempts and a turn in the queue fit in.
	defaultAttemptTimeout = 6 * time.Second
	defaultQueueWait      = 4 * time.Second
	// defaultFusedWait is how long the quick engines of a fused search wait for
	// the slow ones.
	defaultFusedWait = 2500 * time.Millisecond
	// defaultMinGap is the distance at which engines tolerate being scraped.
	defaultMinGap = 2 * time.Second
	// answerCacheBytes is what this process keeps of answers without Redis.
	answerCacheBytes = 16 << 20
)

// Config is what an operator may set.
type Config struct {
	// Adapter is the one engine to use, by its name in Engines; api stands for
	// anthropic, brave for brave_llm. Empty means the policy. One that is named is
	// never replaced by another.
	Adapter string `config:"adapter"`
	// Policy names the engines to ask and their order by the base language of the
	// search (zh, en); "*" stands for all languages without an entry. Without "*"
	// those have the built-in order: engines that were given their key or address,
	// the cheapest and then the quickest first, bing, duckduckgo (for Chinese
	// baidu before it).
	Policy map[string][]string `config:"policy"`
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
	// FusedWait is how long a fused search that has results waits for engines
	// that have not answered.
	FusedWait time.Duration `config:"fused_wait"`
	// Market is the Bing market for queries whose script does not tell their
	// language, such as en-US; empty is the adapter's own choice.
	Market string `config:"market"`
	// Egress names the network by which this process reaches the web, where
	// replicas that share a Redis leave by different ones: an engine that blocks
	// one address does not block the others.
	Egress string `config:"egress"`

	Bing           EngineConfig    `config:"bing"`
	DuckDuckGo     EngineConfig    `config:"duckduckgo"`
	DuckDuckGoLite EngineConfig    `config:"duckduckgo_lite"`
	Baidu          EngineConfig    `config:"baidu"`
	SearXNG        EngineConfig    `config:"searxng"`
	Brave          KeyedConfig     `config:"brave"`
	Tavily         KeyedConfig     `config:"tavily"`
	Bocha          KeyedConfig     `config:"bocha"`
	Zhipu          ZhipuConfig     `config:"zhipu"`
	Anthropic      AnthropicConfig `config:"anthropic"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		MaxResults:     defaultMaxResults,
		CallsPerMinute: defaultCallsPerMinute,
		AttemptTimeout: defaultAttemptTimeout,
		QueueWait:      defaultQueueWait,
		FusedWait:      defaultFusedWait,
		Market:         bing.DefaultMarket,
	}
}

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
	if c.FusedWait <= 0 {
		errs = append(errs, fmt.Errorf("search.fused_wait is %s: it must be longer than 0", c.FusedWait))
	}
	if !isMarket(c.Market) {
		errs = append(errs, fmt.Errorf("search.market: %q is no language with a country, such as %s", c.Market, bing.DefaultMarket))
	}
	for _, e := range c.engines() {
		if err := e.validate(); err != nil {
			errs = append(errs, err)
		}
	}
	if err := c.checkPolicy(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// isMarket takes none, too.
func isMarket(market string) bool {
	return market == "" || !strings.Contains(market, "_") && adapter.Base(market) != "" && adapter.RegionOf(market) != ""
}
