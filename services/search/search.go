package search

import (
	"context"
	"math"
	"time"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/fusion"
)

// Search implements SearchService.
func (s *Service) Search(ctx context.Context, req *searchv1.SearchRequest) (*searchv1.SearchResponse, error) {
	p, err := auth.Require(ctx)
	if err != nil {
		return nil, err
	}
	a, err := s.answer(ctx, p, s.question(req), unwatched{})
	if err != nil {
		return nil, err
	}
	return a.proto(), nil
}

func (s *Service) question(req *searchv1.SearchRequest) question {
	l := req.GetLocation()
	q := question{
		text: req.GetQuery(), maxResults: s.cfg.MaxResults, allowed: req.GetAllowedDomains(), blocked: req.GetBlockedDomains(),
		provider: req.GetProvider(), providers: req.GetProviders(), mode: req.GetMode(), page: int(req.GetPage()),
		freshness: req.GetFreshness(), from: req.GetPublishedFrom(), to: req.GetPublishedTo(),
		language: req.GetLanguage(), region: req.GetRegion(), safeSearch: req.GetSafeSearch(),
		location: adapter.Location{
			City: l.GetCity(), Region: l.GetRegion(), Country: l.GetCountry(), Timezone: l.GetTimezone(),
			Latitude: l.GetLatitude(), Longitude: l.GetLongitude(),
		},
		news: req.GetNews(), passages: req.GetPassages(), maxTokens: int(req.GetMaxTokens()),
		strict: req.GetStrictOptions(), cache: req.GetCache(),
	}
	if req.MaxResults != nil {
		q.maxResults = int(req.GetMaxResults())
	}
	return q
}

func (a answer) proto() *searchv1.SearchResponse {
	out := &searchv1.SearchResponse{
		Outcome: string(a.code), AlteredQuery: a.altered, FilteredOut: int32(a.filteredOut), Markdown: a.markdown(),
		DroppedOptions: names(a.ignored), CostUsd: a.cost(), Stale: a.stale(), AnsweredAt: a.at().UTC().Format(time.RFC3339),
	}
	for _, r := range a.results {
		out.Results = append(out.Results, protoResult(r))
	}
	for _, t := range a.attempts {
		out.Attempts = append(out.Attempts, t.proto())
	}
	return out
}

func protoResult(r fusion.Result) *searchv1.SearchResult {
	out := &searchv1.SearchResult{
		Title: r.Title, Url: r.URL, Snippet: r.Snippet, Source: r.Sources[0].Provider, PublishedAt: r.PublishedAt,
		Language: r.Language, SiteName: r.SiteName, Untrusted: true,
	}
	for _, s := range r.Sources {
		out.Sources = append(out.Sources, &searchv1.ResultSource{Provider: s.Provider, Family: s.Family, Rank: int32(s.Rank)})
	}
	for _, p := range r.Passages {
		out.Passages = append(out.Passages, &searchv1.Passage{Text: p.Text, Kind: string(p.Kind), Cut: p.Cut})
	}
	return out
}

func (t attempt) proto() *searchv1.Attempt {
	return &searchv1.Attempt{
		Provider: t.provider, Family: t.family, Outcome: string(t.outcome.Code), HttpStatus: int32(t.status),
		LatencyMs: int32(t.latency.Milliseconds()), ResultCount: int32(len(t.page.Results)), Detail: t.outcome.Detail,
		FilteredOut: int32(t.filteredOut), RetryAfterSeconds: wholeSeconds(t.outcome.RetryAfter), CostUsd: t.cost,
		Cache: t.cached, DroppedOptions: names(t.dropped), Skipped: t.skipped,
	}
}

// wholeSeconds rounds up: who waits that long does not come too early.
func wholeSeconds(d time.Duration) int32 { return int32(math.Ceil(max(d, 0).Seconds())) }
