package search

import (
	"cmp"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/bing"
	"github.com/nanoclaw/nanoclaw/services/search/internal/duckduckgo"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pacing"
	"github.com/nanoclaw/nanoclaw/services/search/internal/relevance"
	"github.com/nanoclaw/nanoclaw/services/search/internal/transport"
)

// engine is an adapter with what the service keeps for it.
type engine struct {
	adapter.Adapter
	gate  *pacing.Gate
	trust transport.Trust
}

// engines is the one list of the engines there are. limiter keeps their pace.
func engines(cfg Config, limiter ratelimit.Limiter) map[string]*engine {
	out := map[string]*engine{}
	add := func(a adapter.Adapter, e EngineConfig) {
		out[a.Name()] = &engine{a, pacing.New(limiter, queueKey(a.Name(), e.BaseURL), e.gap()), transport.Trust(e.BaseURL != "")}
	}
	add(bing.New(bing.Config{BaseURL: cfg.Bing.BaseURL, Market: cfg.Market}), cfg.Bing)
	add(duckduckgo.NewHTML(cfg.DuckDuckGo.BaseURL), cfg.DuckDuckGo)
	add(duckduckgo.NewLite(cfg.DuckDuckGoLite.BaseURL), cfg.DuckDuckGoLite)
	return out
}

// queueKey names the queue for an engine at an address.
func queueKey(name, baseURL string) string {
	if baseURL == "" {
		return "search/engine/" + name
	}
	return "search/engine/" + name + "@" + baseURL
}

// judge says what an answer is to the query. When the engine searched for
// something else, the rows are results of that. Rows of an engine that sends
// decoys are held against the query, or against what was searched instead: rows
// of other queries are no answer. sent is the query as it went out when it was
// too long for the engine.
func judge(c adapter.Capabilities, p adapter.Page, o outcome.Outcome, query, sent string) (adapter.Page, outcome.Outcome) {
	if !o.Code.HasResults() {
		return p.WithoutResults(), o
	}
	if o.Code == outcome.OK {
		p.AlteredQuery = altered(p, query, sent)
		if p.AlteredQuery != "" {
			o.Code = outcome.OKAlteredQuery
		}
	}
	if !c.Decoys {
		return p, o
	}
	v := relevance.Judge(cmp.Or(p.AlteredQuery, query), p.Results)
	if v.Decoy {
		return p.WithoutResults(), outcome.Because(outcome.DecoySuspected, "rows share no word with the query")
	}
	if left := len(p.Results) - len(v.Kept); left > 0 {
		o.Detail = "rows of other queries left out"
	}
	p.Results = v.Kept
	return p, o
}

// altered is the query that was searched when neither the engine nor we
// searched the one asked.
func altered(p adapter.Page, query, sent string) string {
	asked := cmp.Or(sent, query)
	if p.SearchedQuery != "" && !sameWords(p.SearchedQuery, asked) {
		return p.SearchedQuery
	}
	return sent
}

func sameWords(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}
