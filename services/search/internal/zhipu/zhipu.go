// Package zhipu asks the web search API of Zhipu (BigModel), which has several
// Chinese indexes to choose from.
package zhipu

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/jsonapi"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pubdate"
)

// Name is the provider's name.
const Name = "zhipu"

// DefaultBaseURL is where the API is, with its version.
const DefaultBaseURL = "https://open.bigmodel.cn/api/paas/v4"

// defaultIndex is asked when the configuration names none.
const defaultIndex = "search_std"

// costs of one search by index, in US dollars: 0.01 to 0.05 CNY at the list
// price.
var costs = map[string]float64{
	defaultIndex: 0.0014, "search_pro": 0.0042, indexSogou: 0.007, indexQuark: 0.007,
}

// Indexes are those that can be asked.
func Indexes() []string { return slices.Sorted(maps.Keys(costs)) }

// Bounds of a request. A longer query is refused.
const (
	maxQueryRunes = 70
	maxCount      = 50
)

// Config is where and as whom Zhipu is asked.
type Config struct {
	// BaseURL is scheme, host and version; empty means DefaultBaseURL.
	BaseURL string
	// Key is the API key.
	Key string
	// Index is one of Indexes; empty means search_std.
	Index string
}

// Adapter is the Zhipu adapter.
type Adapter struct {
	cfg          Config
	capabilities adapter.Capabilities
}

// New makes the adapter.
func New(cfg Config) *Adapter {
	cfg.Index = cmp.Or(cfg.Index, defaultIndex)
	c := capabilities
	c.CostUSD = costs[cfg.Index]
	if cfg.Index == indexQuark {
		c.MaxCount, c.AllowedDomains = 0, 0
	}
	return &Adapter{cfg, c}
}

// The indexes with rules of their own: Sogou's sends whole tens of rows, and
// Quark's heeds neither a count nor a domain.
const (
	indexSogou = "search_pro_sogou"
	indexQuark = "search_pro_quark"
	sogouStep  = 10
)

// count is how many rows are asked for: at least as many as are wanted, where
// the index has steps. The service cuts the list.
func (a *Adapter) count(wanted int) int {
	if a.cfg.Index == indexSogou {
		return (wanted + sogouStep - 1) / sogouStep * sogouStep
	}
	return wanted
}

// Name implements adapter.Adapter.
func (*Adapter) Name() string { return Name }

// capabilities of Zhipu. It has no parameter for the language: Chinese is what
// it is for. Its filter takes one domain.
var capabilities = adapter.Capabilities{
	Family: Name, NeedsKey: true,
	MaxQueryRunes: maxQueryRunes, MaxCount: maxCount, AllowedDomains: 1,
	Windows:   adapter.Windows(),
	Languages: []string{"zh"}, Regions: []string{"CN"},
	Passages: true,
}

// Capabilities implements adapter.Adapter.
func (a *Adapter) Capabilities() adapter.Capabilities { return a.capabilities }

// body is the request, in the order in which it is written.
type body struct {
	Query       string `json:"search_query"`
	Engine      string `json:"search_engine"`
	Intent      bool   `json:"search_intent"`
	Count       int    `json:"count,omitempty"`
	Domain      string `json:"search_domain_filter,omitempty"`
	Recency     string `json:"search_recency_filter,omitempty"`
	ContentSize string `json:"content_size"`
}

var windows = map[adapter.Window]string{
	adapter.Day: "oneDay", adapter.Week: "oneWeek", adapter.Month: "oneMonth", adapter.Year: "oneYear",
}

// Plan implements adapter.Adapter.
func (a *Adapter) Plan(q adapter.Query) (adapter.Plan, error) {
	if a.cfg.Key == "" {
		return adapter.Plan{}, fmt.Errorf("%w: Zhipu needs an API key (search.zhipu.api_key)", adapter.ErrNotConfigured)
	}
	q, dropped := a.capabilities.Fit(q)
	text, short := a.capabilities.Shorten(q.Text)
	b := body{Query: text, Engine: a.cfg.Index, Count: a.count(q.Count), Recency: windows[q.Freshness.Window], ContentSize: "medium"}
	if hosts := adapter.Hosts(q.AllowedDomains); len(hosts) == 1 {
		b.Domain = hosts[0]
	}
	if q.Passages {
		b.ContentSize = "high"
	}
	request, err := adapter.BearerPost(cmp.Or(a.cfg.BaseURL, DefaultBaseURL), "/web_search", a.cfg.Key, b)
	if err != nil {
		return adapter.Plan{}, fmt.Errorf("zhipu: %w", err)
	}
	plan := adapter.Plan{Dropped: dropped, Request: request}
	if short {
		plan.SentText = text
	}
	return plan, nil
}

type answer struct {
	Error  jsonapi.Maybe[apiError] `json:"error"`
	Result jsonapi.List[row]       `json:"search_result"`
}

type row struct {
	Title     jsonapi.Text `json:"title"`
	Link      jsonapi.Text `json:"link"`
	Content   jsonapi.Text `json:"content"`
	Media     jsonapi.Text `json:"media"`
	Published jsonapi.Text `json:"publish_date"`
}

type apiError struct {
	Code jsonapi.Code `json:"code"`
}

// Parse implements adapter.Adapter.
func (a *Adapter) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return jsonapi.Read(r, refusal, a.read)
}

func (a *Adapter) read(got answer, r adapter.Response) (adapter.Page, outcome.Outcome) {
	switch {
	case got.Error.There:
		if o, ok := byCode(got.Error.Value.Code); ok {
			return adapter.Page{}, o
		}
		return adapter.Page{}, outcome.Because(outcome.Upstream5xx, "zhipu: an error that is not known")
	case !got.Result.There:
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of results")
	case got.Result.Empty():
		return adapter.Page{CostUSD: a.capabilities.CostUSD}, outcome.Because(outcome.EmptyVerified, "an empty list of results")
	}
	var rows adapter.Rows
	for _, row := range got.Result.Rows {
		rows.Add(adapter.Result{
			Title: adapter.CleanText(string(row.Title)), URL: string(row.Link),
			Snippet: adapter.CleanText(string(row.Content)), PublishedAt: pubdate.Parse(string(row.Published), r.ReceivedAt),
			SiteName: adapter.CleanText(string(row.Media)), Passages: jsonapi.Passages([]string{string(row.Content)}),
		})
	}
	p, o := rows.Page("")
	p.CostUSD = a.capabilities.CostUSD
	return p, o
}

func refusal(r adapter.Response) (outcome.Outcome, bool) {
	var got answer
	if json.Unmarshal(r.Body, &got) != nil {
		return outcome.Outcome{}, false
	}
	return byCode(got.Error.Value.Code)
}

// byCode reads Zhipu's error codes. 1703 says that the index behind it sent
// nothing valid, which is a failure and no empty list.
func byCode(code jsonapi.Code) (outcome.Outcome, bool) {
	c, ok := codes[code]
	return outcome.Because(c, "zhipu: code "+string(code)), ok
}

var codes = map[jsonapi.Code]outcome.Code{
	// The key and its account: 1120 is one that cannot be read at the moment.
	"1000": outcome.AuthFailed, "1001": outcome.AuthFailed, "1002": outcome.AuthFailed, "1003": outcome.AuthFailed,
	"1004": outcome.AuthFailed, "1100": outcome.AuthFailed, "1110": outcome.AuthFailed, "1111": outcome.AuthFailed,
	"1112": outcome.AuthFailed, "1113": outcome.QuotaExhausted, "1120": outcome.Upstream5xx, "1121": outcome.AuthFailed,
	// The call.
	"1210": outcome.BadRequest, "1211": outcome.Config, "1212": outcome.Config, "1213": outcome.BadRequest,
	"1214": outcome.BadRequest, "1215": outcome.BadRequest, "1220": outcome.AuthFailed, "1221": outcome.Config,
	"1222": outcome.Config, "1230": outcome.Upstream5xx, "1231": outcome.RateLimited, "1234": outcome.Upstream5xx,
	// What is allowed, and how much of it.
	"1300": outcome.BadRequest, "1301": outcome.BadRequest, "1302": outcome.RateLimited, "1303": outcome.RateLimited,
	"1304": outcome.QuotaExhausted, "1305": outcome.RateLimited, "1308": outcome.QuotaExhausted, "1309": outcome.QuotaExhausted,
	// The search itself.
	"1701": outcome.RateLimited, "1702": outcome.Config, "1703": outcome.Upstream5xx,
	"500": outcome.Upstream5xx,
}
