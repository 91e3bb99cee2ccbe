package search

import (
	"cmp"

	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/selection"
)

// EngineAddress is where a search engine is asked.
type EngineAddress struct {
	// Engine is its name, Section where its settings stand below search.
	Engine, Section string
	URL             string
	// Moved says that the address is the operator's and not the engine's own.
	Moved bool
}

// Engines are the engines that a search of no particular language asks when its
// caller names none, the first one first. The error is that of a search when
// there is none.
func (c Config) Engines() ([]EngineAddress, error) {
	missing, at := map[string]string{}, map[string]EngineAddress{}
	for _, e := range c.engines() {
		at[e.name] = EngineAddress{e.name, e.section, cmp.Or(e.BaseURL, catalog.Address(e.name)), e.BaseURL != ""}
		if a, ok := catalog.New(e.name, e.settings); ok {
			missing[e.name] = lacks(a)
		}
	}
	rules := c.rules(missing)
	if err := rules.CheckConfigured(); err != nil {
		return nil, err
	}
	tiers, err := rules.Tiers(selection.Request{})
	if err != nil {
		return nil, err
	}
	var all []EngineAddress
	for _, tier := range tiers {
		for _, name := range tier {
			all = append(all, at[name])
		}
	}
	return all, nil
}
