// Package bocha asks the Bocha web search API, whose index is of Chinese pages
// first.
package bocha

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
const Name = "bocha"

// DefaultBaseURL is where Bocha is.
const DefaultBaseURL = "https://api.bochaai.com"

// costUSD is one search at the list price of 0.036 CNY.
const costUSD = 0.005

// Bounds of a request.
const (
	maxCount   = 50
	maxDomains = 20
)

// Config is where and as whom Bocha is asked.
type Config struct {
	// BaseURL is scheme and host; empty means DefaultBaseURL.
	BaseURL string
	// Key is the API key.
	Key string
}

// Adapter is the Bocha adapter.
type Adapter struct{ cfg Config }

// New makes the adapter.
func New(cfg Config) *Adapter { return &Adapter{cfg} }

// Name implements adapter.Adapter.
func (*Adapter) Name() string { return Name }

// capabilities of Bocha. It has no parameter for the language: Chinese is what
// it is for.
var capabilities = adapter.Capabilities{
	Family: Name, NeedsKey: true, CostUSD: costUSD,
	MaxCount: maxCount, AllowedDomains: maxDomains, BlockedDomains: maxDomains,
	Windows: adapter.Windows(), Range: true,
	Languages: []string{"zh"}, Regions: []string{"CN"},
	Passages: true,
}

// Capabilities implements adapter.Adapter.
func (*Adapter) Capabilities() adapter.Capabilities { return capabilities }

// body is the request, in the order in which it is written.
type body struct {
	Query     string `json:"query"`
	Freshness string `json:"freshness,omitempty"`
	Summary   bool   `json:"summary"`
	Include   string `json:"include,omitempty"`
	Exclude   string `json:"exclude,omitempty"`
	Count     int    `json:"count,omitempty"`
}

var windows = map[adapter.Window]string{
	adapter.Day: "oneDay", adapter.Week: "oneWeek", adapter.Month: "oneMonth", adapter.Year: "oneYear",
}

// Plan implements adapter.Adapter.
func (a *Adapter) Plan(q adapter.Query) (adapter.Plan, error) {
	if a.cfg.Key == "" {
		return adapter.Plan{}, fmt.Errorf("%w: Bocha needs an API key (search.bocha.api_key)", adapter.ErrNotConfigured)
	}
	q, dropped := capabilities.Fit(q)
	b := body{
		Query: q.Text, Summary: q.Passages, Count: q.Count,
		Include: strings.Join(adapter.Hosts(q.AllowedDomains), "|"), Exclude: strings.Join(adapter.WholeHosts(q.BlockedDomains), "|"),
	}
	if len(q.BlockedDomains) > 0 && b.Exclude == "" {
		dropped.Add(adapter.OptionBlockedDomains)
	}
	switch f := q.Freshness; {
	case f.IsZero():
	case f.Window != "":
		b.Freshness = windows[f.Window]
	default:
		b.Freshness = f.From.Format(time.DateOnly) + ".." + f.To.Format(time.DateOnly)
	}
	request, err := adapter.BearerPost(cmp.Or(a.cfg.BaseURL, DefaultBaseURL), "/v1/web-search", a.cfg.Key, b)
	if err != nil {
		return adapter.Plan{}, fmt.Errorf("bocha: %w", err)
	}
	return adapter.Plan{Dropped: dropped, Request: request}, nil
}

type answer struct {
	Code jsonapi.Code        `json:"code"`
	Data jsonapi.Maybe[data] `json:"data"`
}

type data struct {
	WebPages jsonapi.Maybe[webPages] `json:"webPages"`
}

type webPages struct {
	Value jsonapi.List[row] `json:"value"`
}

type row struct {
	Name      jsonapi.Text `json:"name"`
	URL       jsonapi.Text `json:"url"`
	Snippet   jsonapi.Text `json:"snippet"`
	Summary   jsonapi.Text `json:"summary"`
	SiteName  jsonapi.Text `json:"siteName"`
	Published jsonapi.Text `json:"datePublished"`
	Crawled   jsonapi.Text `json:"dateLastCrawled"`
	Language  jsonapi.Text `json:"language"`
}

// published is when the page was. Older answers have only dateLastCrawled, which
// is no crawl: Bocha documents it as the same date, in the time of Beijing with
// the mark of UTC behind it.
func (r row) published(now time.Time) string {
	const beijing = "+08:00"
	if at := pubdate.Parse(string(r.Published), now); at != "" {
		return at
	}
	return pubdate.Parse(strings.TrimSuffix(string(r.Crawled), "Z")+beijing, now)
}

// Parse implements adapter.Adapter.
func (a *Adapter) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return jsonapi.Read(r, refusal, read)
}

// success is the code of an answer within a body of status 200.
const success = "200"

func read(a answer, r adapter.Response) (adapter.Page, outcome.Outcome) {
	if a.Code != success {
		if o, ok := byCode(a.Code); ok {
			return adapter.Page{}, o
		}
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "a code that is not known")
	}
	list := a.Data.Value.WebPages.Value.Value
	switch {
	case !list.There:
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of web pages")
	case list.Empty():
		return adapter.Page{CostUSD: costUSD}, outcome.Because(outcome.EmptyVerified, "an empty list of web pages")
	}
	var rows adapter.Rows
	for _, row := range list.Rows {
		rows.Add(adapter.Result{
			Title: adapter.CleanText(string(row.Name)), URL: string(row.URL),
			Snippet:     adapter.CleanText(cmp.Or(string(row.Snippet), string(row.Summary))),
			PublishedAt: row.published(r.ReceivedAt),
			SiteName:    adapter.CleanText(string(row.SiteName)), Language: string(row.Language),
			Passages: jsonapi.Passages([]string{string(row.Summary)}),
		})
	}
	p, o := rows.Page("")
	p.CostUSD = costUSD
	return p, o
}

// refusal reads the code in the body, which says more than the status: a 403 is
// money that is used up, not a key that is wrong.
func refusal(r adapter.Response) (outcome.Outcome, bool) {
	var a answer
	if json.Unmarshal(r.Body, &a) != nil {
		return outcome.Outcome{}, false
	}
	return byCode(a.Code)
}

func byCode(code jsonapi.Code) (outcome.Outcome, bool) {
	c, ok := map[jsonapi.Code]outcome.Code{
		"400": outcome.BadRequest, "401": outcome.AuthFailed, "403": outcome.QuotaExhausted,
		"429": outcome.RateLimited, "500": outcome.Upstream5xx, "502": outcome.Upstream5xx, "503": outcome.Upstream5xx,
	}[code]
	return outcome.Because(c, "bocha: code "+string(code)), ok
}
