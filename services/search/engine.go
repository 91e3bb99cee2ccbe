package search

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/correction"
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
	// place names the engine as it is reached from here, with the account: for its
	// queue and its health.
	place string
	// setting names everything of its configuration that changes its answers.
	setting string
	// missing says in words what it lacks to be asked; empty for nothing.
	missing  string
	keyGiven bool
}

// engines makes the engines there are. limiter keeps their pace.
func engines(cfg Config, limiter ratelimit.Limiter) map[string]*engine {
	out := map[string]*engine{}
	for _, e := range cfg.engines() {
		a, ok := catalog.New(e.name, e.settings)
		if !ok {
			continue // cannot be: a test holds the lists together
		}
		s := e.settings
		place := placeOf(e.name, e.BaseURL, cfg.Egress)
		account := place + accountOf(s.Key)
		out[e.name] = &engine{
			Adapter: a, gate: pacing.New(limiter, "search/engine/"+account, e.gap(a.Capabilities().Scraped)),
			trust: transport.Trust(e.BaseURL != ""), place: account, missing: lacks(a), keyGiven: s.Key != "",
			setting: fmt.Sprintf("%s %q %q %q %q", place, s.Market, s.Model, s.Tool, s.Index),
		}
	}
	return out
}

// lacks says in words what an engine lacks to be asked.
func lacks(a adapter.Adapter) string {
	_, err := a.Plan(adapter.Query{Text: "search"})
	if !errors.Is(err, adapter.ErrNotConfigured) {
		return ""
	}
	return strings.TrimPrefix(err.Error(), adapter.ErrNotConfigured.Error()+": ")
}

// placeOf names an engine at an address, as it is reached from a network.
func placeOf(name, baseURL, egress string) string {
	place := name
	if baseURL != "" {
		place += "@" + baseURL
	}
	if egress != "" {
		place += " from " + egress
	}
	return place
}

// accountOf names the account of a key, without telling the key: a block or a used
// up allowance is that of one account, and another key is another one.
func accountOf(key string) string {
	if key == "" {
		return ""
	}
	return " as " + digest(key)
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
	// What is compared is cleansed alike: a query about markup is not another one.
	query, _ = cleanse.Text(query)
	sent, _ = cleanse.Text(sent)
	p, done := cleansed(p)
	o = o.Noting(done.Warnings()...)
	if o.Code == outcome.OKAlteredQuery && correction.Same(query, p.AlteredQuery) {
		p.AlteredQuery, o.Code = "", outcome.OK
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
		o = o.Noting("rows of other queries left out")
	}
	p.Results = v.Kept
	return p, o
}

// altered is the query that was searched when neither the engine nor we
// searched the one asked.
func altered(p adapter.Page, query, sent string) string {
	asked := cmp.Or(sent, query)
	if p.SearchedQuery != "" && !correction.Same(asked, p.SearchedQuery) {
		return p.SearchedQuery
	}
	return sent
}
