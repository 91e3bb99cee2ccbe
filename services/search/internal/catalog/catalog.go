// Package catalog is the one list of the search engines there are.
package catalog

import (
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/anthropic"
	"github.com/nanoclaw/nanoclaw/services/search/internal/baidu"
	"github.com/nanoclaw/nanoclaw/services/search/internal/bing"
	"github.com/nanoclaw/nanoclaw/services/search/internal/bocha"
	"github.com/nanoclaw/nanoclaw/services/search/internal/brave"
	"github.com/nanoclaw/nanoclaw/services/search/internal/duckduckgo"
	"github.com/nanoclaw/nanoclaw/services/search/internal/searxng"
	"github.com/nanoclaw/nanoclaw/services/search/internal/tavily"
	"github.com/nanoclaw/nanoclaw/services/search/internal/zhipu"
)

// Settings is what an operator may set for an engine. An engine takes what it
// has a use for.
type Settings struct {
	// BaseURL replaces the engine's own address.
	BaseURL string
	// Key is the API key.
	Key string
	// Market is Bing's for queries that do not tell their language.
	Market string
	// Model is the model that calls the Anthropic web search.
	Model string
	// Tool is the version of the Anthropic web search.
	Tool string
	// InputUSD and OutputUSD are what a million tokens of Model cost.
	InputUSD, OutputUSD float64
	// Index is which one Zhipu searches.
	Index string
}

// entry is one engine.
type entry struct {
	name    string
	address string
	make    func(Settings) adapter.Adapter
}

// entries are in the order in which the engines are listed to people: those
// that need nothing first.
var entries = []entry{
	{bing.Name, bing.DefaultBaseURL, func(s Settings) adapter.Adapter {
		return bing.New(bing.Config{BaseURL: s.BaseURL, Market: s.Market})
	}},
	{duckduckgo.NameHTML, duckduckgo.DefaultHTMLBaseURL, func(s Settings) adapter.Adapter { return duckduckgo.NewHTML(s.BaseURL) }},
	{duckduckgo.NameLite, duckduckgo.DefaultLiteBaseURL, func(s Settings) adapter.Adapter { return duckduckgo.NewLite(s.BaseURL) }},
	{baidu.Name, baidu.DefaultBaseURL, func(s Settings) adapter.Adapter { return baidu.New(baidu.Config{BaseURL: s.BaseURL}) }},
	{searxng.Name, "", func(s Settings) adapter.Adapter { return searxng.New(searxng.Config{BaseURL: s.BaseURL}) }},
	{brave.NameLLM, brave.DefaultBaseURL, func(s Settings) adapter.Adapter {
		return brave.NewLLM(brave.Config{BaseURL: s.BaseURL, Key: s.Key})
	}},
	{brave.NameWeb, brave.DefaultBaseURL, func(s Settings) adapter.Adapter {
		return brave.NewWeb(brave.Config{BaseURL: s.BaseURL, Key: s.Key})
	}},
	{tavily.Name, tavily.DefaultBaseURL, func(s Settings) adapter.Adapter {
		return tavily.New(tavily.Config{BaseURL: s.BaseURL, Key: s.Key})
	}},
	{bocha.Name, bocha.DefaultBaseURL, func(s Settings) adapter.Adapter {
		return bocha.New(bocha.Config{BaseURL: s.BaseURL, Key: s.Key})
	}},
	{zhipu.Name, zhipu.DefaultBaseURL, func(s Settings) adapter.Adapter {
		return zhipu.New(zhipu.Config{BaseURL: s.BaseURL, Key: s.Key, Index: s.Index})
	}},
	{anthropic.Name, anthropic.DefaultBaseURL, func(s Settings) adapter.Adapter {
		return anthropic.New(anthropic.Config{
			BaseURL: s.BaseURL, Key: s.Key, Model: s.Model, Tool: s.Tool, InputUSD: s.InputUSD, OutputUSD: s.OutputUSD,
		})
	}},
}

// Names are the names of all engines.
func Names() []string {
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.name)
	}
	return names
}

// New makes the engine called name; it is false when there is none. Settings
// that are missing come up when the engine plans a request.
func New(name string, s Settings) (adapter.Adapter, bool) {
	for _, e := range entries {
		if e.name == name {
			return e.make(s), true
		}
	}
	return nil, false
}

// Address is where an engine is asked when the operator does not say; empty for
// one without an address of its own, and for one that there is not.
func Address(name string) string {
	for _, e := range entries {
		if e.name == name {
			return e.address
		}
	}
	return ""
}
