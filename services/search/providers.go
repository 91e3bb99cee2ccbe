package search

import (
	"context"
	"math"
	"slices"
	"time"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/health"
	"github.com/nanoclaw/nanoclaw/services/search/internal/selection"
)

// ListProviders implements SearchService.
func (s *Service) ListProviders(ctx context.Context, _ *searchv1.ListProvidersRequest) (*searchv1.ListProvidersResponse, error) {
	if _, err := auth.Require(ctx); err != nil {
		return nil, err
	}
	order := s.order(ctx)
	names := slices.Clone(order)
	for _, name := range catalog.Names() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	now := time.Now()
	out := &searchv1.ListProvidersResponse{}
	for _, name := range names {
		p := s.provider(ctx, s.engines[name], now)
		p.Position = int32(slices.Index(order, name) + 1)
		out.Providers = append(out.Providers, p)
	}
	return out, nil
}

// order are the engines that a search of English words asks now when nobody names
// one.
func (s *Service) order(ctx context.Context) []string {
	tiers, err := s.rules.Tiers(selection.Request{Language: "en"})
	if err != nil {
		return nil // none is set up: each of them says so
	}
	ranked, _ := s.rank(ctx, tiers, request{asked: adapter.Query{Text: "search"}})
	names := make([]string, len(ranked))
	for i, c := range ranked {
		names[i] = c.Name
	}
	return names
}

func (s *Service) provider(ctx context.Context, e *engine, now time.Time) *searchv1.SearchProvider {
	c, record := e.Capabilities(), s.health.Look(ctx, e.place)
	status := record.Status(now)
	p := &searchv1.SearchProvider{
		Name: e.Name(), Family: c.Family, Configured: e.missing == "", Missing: e.missing,
		NeedsKey: c.NeedsKey, KeyPresent: e.keyGiven, CostUsd: c.CostUSD, LatencyMs: wholeMillis(record.Latency),
		Health:       &searchv1.ProviderHealth{State: string(status.Phase), Until: moment(status.Until), Reason: string(status.Reason)},
		Capabilities: capabilities(c),
	}
	if status.Phase == health.HalfOpen {
		p.Health.Until = ""
	}
	for _, w := range record.Quota.Windows(now) {
		l := &searchv1.ProviderLimit{Name: w.Name, Limit: bounded(w.Limit), PeriodSeconds: wholeSeconds(w.Period), ResetsAt: moment(w.ResetsAt)}
		if l.Name == "" {
			l.Name = "requests"
		}
		if w.Remaining >= 0 {
			left := bounded(w.Remaining)
			l.Remaining = &left
		}
		p.Limits = append(p.Limits, l)
	}
	return p
}

// wholeMillis rounds up: 0 stands for an engine that has not answered yet.
func wholeMillis(d time.Duration) int32 {
	return int32(math.Ceil(float64(d) / float64(time.Millisecond)))
}

func bounded(n int) int32 { return int32(min(n, math.MaxInt32)) }

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func capabilities(c adapter.Capabilities) *searchv1.ProviderCapabilities {
	out := &searchv1.ProviderCapabilities{
		MaxResults: int32(c.MaxCount), MaxPage: int32(max(c.MaxPage, 1)), DateRange: c.Range,
		Languages: c.Languages, Regions: c.Regions, Scraped: c.Scraped,
	}
	for _, w := range c.Windows {
		out.Freshness = append(out.Freshness, string(w))
	}
	for _, l := range c.SafeSearch {
		out.SafeSearch = append(out.SafeSearch, string(l))
	}
	for _, o := range adapter.Options() {
		if can(c, o) {
			out.Options = append(out.Options, string(o))
		}
	}
	return out
}

// can reports whether an engine can express an option at least in part.
func can(c adapter.Capabilities, o adapter.Option) bool {
	switch o {
	case adapter.OptionMaxResults:
		return c.MaxCount > 0
	case adapter.OptionPage:
		return c.MaxPage > 1
	case adapter.OptionAllowedDomains:
		return c.AllowedDomains > 0
	case adapter.OptionBlockedDomains:
		return c.BlockedDomains > 0
	case adapter.OptionFreshness:
		return c.Range || len(c.Windows) > 0
	case adapter.OptionLanguage:
		return len(c.Languages) > 0
	case adapter.OptionRegion:
		return len(c.Regions) > 0
	case adapter.OptionSafeSearch:
		return len(c.SafeSearch) > 0
	case adapter.OptionLocation:
		return c.Location
	case adapter.OptionNews:
		return c.News
	case adapter.OptionPassages:
		return c.Passages
	case adapter.OptionPassageTokens:
		return c.PassageTokens
	}
	return false
}
