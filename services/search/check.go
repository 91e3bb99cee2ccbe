package search

import (
	"cmp"
	"maps"
	"slices"

	"github.com/nanoclaw/nanoclaw/services/search/internal/bing"
	"github.com/nanoclaw/nanoclaw/services/search/internal/duckduckgo"
	"github.com/nanoclaw/nanoclaw/services/search/internal/selection"
)

// EngineAddress is where a search engine is asked.
type EngineAddress struct{ Engine, URL string }

// Engines are the engines that a search asks when its caller names none, the
// first one first. The error is that of a search when there is none.
func (c Config) Engines() ([]EngineAddress, error) {
	at := map[string]string{
		bing.Name:           cmp.Or(c.Bing.BaseURL, bing.DefaultBaseURL),
		duckduckgo.NameHTML: cmp.Or(c.DuckDuckGo.BaseURL, duckduckgo.DefaultHTMLBaseURL),
		duckduckgo.NameLite: cmp.Or(c.DuckDuckGoLite.BaseURL, duckduckgo.DefaultLiteBaseURL),
	}
	rules := selection.Rules{Configured: c.Adapter, Default: defaultOrder(), Known: slices.Sorted(maps.Keys(at))}
	if err := rules.Validate(); err != nil {
		return nil, err
	}
	names, err := rules.Order("")
	if err != nil {
		return nil, err
	}
	var all []EngineAddress
	for _, name := range names {
		all = append(all, EngineAddress{name, at[name]})
	}
	return all, nil
}
