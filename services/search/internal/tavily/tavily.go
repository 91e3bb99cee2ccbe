// Package tavily asks the Tavily search API.
package tavily

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/jsonapi"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pubdate"
)

// Name is the provider's name.
const Name = "tavily"

// DefaultBaseURL is where Tavily is.
const DefaultBaseURL = "https://api.tavily.com"

// creditUSD is one credit at the list price; a basic search takes one, a search
// for passages two.
const creditUSD = 0.008

// Bounds of a request.
const (
	maxQueryRunes = 400
	maxCount      = 20
	maxAllowed    = 300
	maxBlocked    = 150
	// maxChunks is the most passages of one page, of about 500 characters each.
	maxChunks = 3
	// chunkTokens is what such a passage is for a model.
	chunkTokens = 125
)

// Config is where and as whom Tavily is asked.
type Config struct {
	// BaseURL is scheme and host; empty means DefaultBaseURL.
	BaseURL string
	// Key is the API key.
	Key string
}

// Adapter is the Tavily adapter.
type Adapter struct{ cfg Config }

// New makes the adapter.
func New(cfg Config) *Adapter { return &Adapter{cfg} }

// Name implements adapter.Adapter.
func (*Adapter) Name() string { return Name }

var capabilities = adapter.Capabilities{
	Family: Name, NeedsKey: true, CostUSD: creditUSD,
	MaxQueryRunes: maxQueryRunes, MaxCount: maxCount,
	AllowedDomains: maxAllowed, BlockedDomains: maxBlocked,
	Windows: adapter.Windows(), Range: true,
	Regions: regionCodes(),
	News:    true, Passages: true, PassageTokens: true,
}

// Capabilities implements adapter.Adapter.
func (*Adapter) Capabilities() adapter.Capabilities { return capabilities }

// body is the request, in the order in which it is written.
type body struct {
	Query          string   `json:"query"`
	SearchDepth    string   `json:"search_depth"`
	Topic          string   `json:"topic"`
	MaxResults     int      `json:"max_results,omitempty"`
	Chunks         int      `json:"chunks_per_source,omitempty"`
	TimeRange      string   `json:"time_range,omitempty"`
	StartDate      string   `json:"start_date,omitempty"`
	EndDate        string   `json:"end_date,omitempty"`
	Country        string   `json:"country,omitempty"`
	IncludeDomains []string `json:"include_domains,omitempty"`
	ExcludeDomains []string `json:"exclude_domains,omitempty"`
	IncludeUsage   bool     `json:"include_usage"`
}

// Plan implements adapter.Adapter.
func (a *Adapter) Plan(q adapter.Query) (adapter.Plan, error) {
	if a.cfg.Key == "" {
		return adapter.Plan{}, fmt.Errorf("%w: Tavily needs an API key (search.tavily.api_key)", adapter.ErrNotConfigured)
	}
	q, dropped := capabilities.Fit(q)
	text, short := capabilities.Shorten(q.Text)
	b := body{
		Query: text, SearchDepth: "basic", Topic: "general", MaxResults: q.Count, IncludeUsage: true,
		IncludeDomains: adapter.Hosts(q.AllowedDomains), ExcludeDomains: adapter.WholeHosts(q.BlockedDomains),
	}
	if len(q.BlockedDomains) > 0 && len(b.ExcludeDomains) == 0 {
		dropped.Add(adapter.OptionBlockedDomains)
	}
	if q.News {
		b.Topic = "news"
	}
	// Countries are known to the general topic alone.
	switch {
	case q.Region != "" && q.News:
		dropped.Add(adapter.OptionRegion)
	default:
		b.Country = countries[q.Region]
	}
	switch f := q.Freshness; {
	case f.IsZero():
	case f.Window != "":
		b.TimeRange = string(f.Window)
	default:
		b.StartDate, b.EndDate = f.From.Format(time.DateOnly), f.To.Format(time.DateOnly)
	}
	if q.Passages {
		b.SearchDepth, b.Chunks = "advanced", chunks(q)
	}
	request, err := adapter.BearerPost(cmp.Or(a.cfg.BaseURL, DefaultBaseURL), "/search", a.cfg.Key, b)
	if err != nil {
		return adapter.Plan{}, fmt.Errorf("tavily: %w", err)
	}
	plan := adapter.Plan{Dropped: dropped, Request: request}
	if short {
		plan.SentText = text
	}
	return plan, nil
}

// chunks is how many passages of each page fit into the budget.
func chunks(q adapter.Query) int {
	if q.PassageTokens <= 0 {
		return maxChunks
	}
	return min(max(q.PassageTokens/(chunkTokens*max(q.Count, 1)), 1), maxChunks)
}

type answer struct {
	Results jsonapi.List[row]    `json:"results"`
	Usage   jsonapi.Maybe[usage] `json:"usage"`
}

type row struct {
	Title     jsonapi.Text `json:"title"`
	URL       jsonapi.Text `json:"url"`
	Content   jsonapi.Text `json:"content"`
	Published jsonapi.Text `json:"published_date"`
}

type usage struct {
	Credits jsonapi.Number `json:"credits"`
}

// Parse implements adapter.Adapter.
func (a *Adapter) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return jsonapi.Read(r, refusal, read)
}

// gap stands between the passages of a page.
const gap = "[...]"

func read(a answer, r adapter.Response) (adapter.Page, outcome.Outcome) {
	cost := float64(cmp.Or(a.Usage.Value.Credits, 1)) * creditUSD
	switch {
	case !a.Results.There:
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of results")
	case a.Results.Empty():
		return adapter.Page{CostUSD: cost}, outcome.Because(outcome.EmptyVerified, "an empty list of results")
	}
	var rows adapter.Rows
	for _, row := range a.Results.Rows {
		res := adapter.Result{
			Title: adapter.CleanText(string(row.Title)), URL: string(row.URL),
			Snippet: adapter.CleanText(string(row.Content)), PublishedAt: pubdate.Parse(string(row.Published), r.ReceivedAt),
		}
		if parts := strings.Split(string(row.Content), gap); len(parts) > 1 {
			res.Passages = jsonapi.Passages(parts)
			res.Snippet = jsonapi.FirstProse(res.Passages)
		}
		rows.Add(res)
	}
	p, o := rows.Page("")
	p.CostUSD = cost
	return p, o
}

// The statuses of Tavily's own for a plan that is used up, and for a limit of
// pay as you go.
const (
	statusPlanLimit = 432
	statusPaidLimit = 433
)

// refusal reads the two statuses that only Tavily has, and the words that tell
// a key without credits from a wrong one.
func refusal(r adapter.Response) (outcome.Outcome, bool) {
	if r.Status == statusPlanLimit || r.Status == statusPaidLimit {
		return outcome.Because(outcome.QuotaExhausted, fmt.Sprintf("HTTP %d: the plan is used up", r.Status)), true
	}
	var e struct {
		Detail jsonapi.Maybe[struct {
			Error jsonapi.Text `json:"error"`
		}] `json:"detail"`
	}
	if json.Unmarshal(r.Body, &e) != nil {
		return outcome.Outcome{}, false
	}
	if words := strings.ToLower(string(e.Detail.Value.Error)); strings.Contains(words, "usage limit") || strings.Contains(words, "plan's set") {
		return outcome.Because(outcome.QuotaExhausted, fmt.Sprintf("HTTP %d: the plan is used up", r.Status)), true
	}
	return outcome.Outcome{}, false
}
