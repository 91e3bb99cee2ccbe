package search

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/text/language"

	"github.com/nanoclaw/nanoclaw/services/search/internal/anthropic"
	"github.com/nanoclaw/nanoclaw/services/search/internal/baidu"
	"github.com/nanoclaw/nanoclaw/services/search/internal/bing"
	"github.com/nanoclaw/nanoclaw/services/search/internal/bocha"
	"github.com/nanoclaw/nanoclaw/services/search/internal/brave"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/duckduckgo"
	"github.com/nanoclaw/nanoclaw/services/search/internal/searxng"
	"github.com/nanoclaw/nanoclaw/services/search/internal/selection"
	"github.com/nanoclaw/nanoclaw/services/search/internal/tavily"
	"github.com/nanoclaw/nanoclaw/services/search/internal/zhipu"
)

// aliases are short names, of engines that want a key.
var aliases = map[string]string{"api": anthropic.Name, "brave": brave.NameLLM}

// builtInPolicy is the order where the operator states none. Engines that want a
// key or an address go before those that are scraped: whoever set them up wants
// them used. Chinese indexes are for Chinese; duckduckgo shows what bing has, to
// those whom bing blocks.
func builtInPolicy() map[string][][]string {
	world := []string{searxng.Name, brave.NameLLM, brave.NameWeb, tavily.Name, anthropic.Name}
	return map[string][][]string{
		"zh":                {{bocha.Name, zhipu.Name}, world, {bing.Name}, {baidu.Name}, {duckduckgo.NameHTML}},
		selection.Elsewhere: {world, {bing.Name}, {duckduckgo.NameHTML}},
	}
}

// policy is the operator's over the built-in one. Engines of the operator's are
// in the order in which they stand.
func (c Config) policy() map[string][][]string {
	all := builtInPolicy()
	if names, ok := c.Policy[selection.Elsewhere]; ok {
		all = map[string][][]string{selection.Elsewhere: inOrder(names)}
	}
	for lang, names := range c.Policy {
		all[lang] = inOrder(names)
	}
	return all
}

func inOrder(names []string) [][]string {
	tiers := make([][]string, len(names))
	for i, name := range names {
		tiers[i] = []string{name}
	}
	return tiers
}

// checkPolicy reports a language or an engine that is none.
func (c Config) checkPolicy() error {
	for _, lang := range slices.Sorted(maps.Keys(c.Policy)) {
		names := c.Policy[lang]
		if base, err := language.ParseBase(lang); lang != selection.Elsewhere && (err != nil || base.String() != lang) {
			return fmt.Errorf("search.policy.%s: %q is no base language such as zh or en, nor \"*\" for all others", lang, lang)
		}
		if len(names) == 0 {
			return fmt.Errorf("search.policy.%s names no engine: name some, or leave it out", lang)
		}
	}
	return selection.Rules{Policy: c.policy(), Known: catalog.Names(), Aliases: aliases}.CheckPolicy()
}

// rules are the selection's, for engines that lack what missing says.
func (c Config) rules(missing map[string]string) selection.Rules {
	return selection.Rules{Configured: c.Adapter, Policy: c.policy(), Known: catalog.Names(), Missing: missing, Aliases: aliases}
}
