package search

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/search/internal/anthropic"
	"github.com/nanoclaw/nanoclaw/services/search/internal/baidu"
	"github.com/nanoclaw/nanoclaw/services/search/internal/bing"
	"github.com/nanoclaw/nanoclaw/services/search/internal/bocha"
	"github.com/nanoclaw/nanoclaw/services/search/internal/brave"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/duckduckgo"
	"github.com/nanoclaw/nanoclaw/services/search/internal/searxng"
	"github.com/nanoclaw/nanoclaw/services/search/internal/tavily"
	"github.com/nanoclaw/nanoclaw/services/search/internal/zhipu"
)

// EngineConfig is what an operator may set for any engine.
type EngineConfig struct {
	// BaseURL replaces the engine's own scheme and host, for a mirror or a
	// proxy. It may be a private address; where it redirects to may not.
	BaseURL string `config:"base_url"`
	// MinGap is the least distance between two requests. 0 means 2 s for an
	// engine whose pages are read at its own address and none otherwise; less
	// than 0 means none.
	MinGap time.Duration `config:"min_gap"`
}

// KeyedConfig is what an operator may set for an engine that wants a key.
type KeyedConfig struct {
	EngineConfig
	// APIKey is the key. Without one the engine is not asked.
	APIKey config.Secret `config:"api_key"`
}

// ZhipuConfig is what an operator may set for Zhipu.
type ZhipuConfig struct {
	KeyedConfig
	// Index is which one is searched (zhipu.Indexes); empty is the adapter's own
	// choice.
	Index string `config:"index"`
}

// AnthropicConfig is what an operator may set for the Anthropic web search.
type AnthropicConfig struct {
	KeyedConfig
	// Model is the model that calls the search. Without one the engine is not
	// asked.
	Model string `config:"model"`
	// Tool is the version of the search; empty is the adapter's own choice.
	Tool string `config:"tool"`
	// InputUSD and OutputUSD are what a million tokens of Model cost in US
	// dollars, for the costs of a search.
	InputUSD  float64 `config:"input_usd"`
	OutputUSD float64 `config:"output_usd"`
}

// engineSettings are the settings of one engine.
type engineSettings struct {
	name string
	// section is where they stand below search in the configuration.
	section string
	EngineConfig
	settings catalog.Settings
}

// engines are the settings of all engines there are.
func (c Config) engines() []engineSettings {
	plain := func(name string, e EngineConfig) engineSettings {
		return engineSettings{name, name, e, catalog.Settings{BaseURL: e.BaseURL}}
	}
	keyed := func(name string, k KeyedConfig) engineSettings {
		e := plain(name, k.EngineConfig)
		e.settings.Key = strings.TrimSpace(k.APIKey.Reveal())
		return e
	}
	all := []engineSettings{
		plain(bing.Name, c.Bing),
		plain(duckduckgo.NameHTML, c.DuckDuckGo),
		plain(duckduckgo.NameLite, c.DuckDuckGoLite),
		plain(baidu.Name, c.Baidu),
		plain(searxng.Name, c.SearXNG),
		keyed(brave.NameLLM, c.Brave),
		keyed(brave.NameWeb, c.Brave),
		keyed(tavily.Name, c.Tavily),
		keyed(bocha.Name, c.Bocha),
		keyed(zhipu.Name, c.Zhipu.KeyedConfig),
		keyed(anthropic.Name, c.Anthropic.KeyedConfig),
	}
	for i := range all {
		s := &all[i].settings
		switch all[i].name {
		case bing.Name:
			s.Market = c.Market
		case brave.NameLLM, brave.NameWeb:
			all[i].section = "brave"
		case zhipu.Name:
			s.Index = c.Zhipu.Index
		case anthropic.Name:
			a := c.Anthropic
			s.Model, s.Tool, s.InputUSD, s.OutputUSD = a.Model, a.Tool, a.InputUSD, a.OutputUSD
		}
	}
	return all
}

// keys are the keys of all engines.
func (c Config) keys() []string {
	var all []string
	for _, e := range c.engines() {
		if e.settings.Key != "" {
			all = append(all, e.settings.Key)
		}
	}
	return all
}

func (e engineSettings) validate() error {
	if err := checkBaseURL(e.BaseURL); err != nil {
		return fmt.Errorf("search.%s.base_url: %w", e.section, err)
	}
	switch s := e.settings; {
	case strings.ContainsFunc(s.Key, notInKey):
		// Sent as it is, it would break the header, or be refused as another one.
		return fmt.Errorf("search.%s.api_key holds white space or characters that are not ASCII: copy the key again", e.section)
	case s.InputUSD < 0 || s.OutputUSD < 0:
		return fmt.Errorf("search.%s.input_usd and output_usd: a price cannot be less than 0", e.section)
	case s.Index != "" && !slices.Contains(zhipu.Indexes(), s.Index):
		return fmt.Errorf("search.%s.index: %q is none of %s", e.section, s.Index, strings.Join(zhipu.Indexes(), ", "))
	case s.Tool != "" && !toolVersion.MatchString(s.Tool):
		return fmt.Errorf("search.%s.tool: %q is no version of the web search, such as %s", e.section, s.Tool, anthropic.DefaultTool)
	}
	return nil
}

// notInKey tells what no key has, and no header may.
func notInKey(r rune) bool { return r <= ' ' || r > '~' }

// toolVersion is how versions of the web search of Anthropic are named.
var toolVersion = regexp.MustCompile(`^web_search_\d{8}$`)

func checkBaseURL(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("give an absolute http or https address, such as https://search.example.com")
	case !isPort(u.Port()):
		return fmt.Errorf("port %s is none: a port is 1 to 65535", u.Port())
	case u.User != nil:
		return errors.New("an address with a password in it ends up in logs; put the engine behind a proxy that adds it")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("give scheme, host and path alone: the query is added")
	}
	return nil
}

// isPort takes none, too.
func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// gap is the distance between requests that follows from the settings.
func (e EngineConfig) gap(scraped bool) time.Duration {
	switch {
	case e.MinGap < 0, e.MinGap == 0 && (e.BaseURL != "" || !scraped):
		return 0
	case e.MinGap == 0:
		return defaultMinGap
	}
	return e.MinGap
}
