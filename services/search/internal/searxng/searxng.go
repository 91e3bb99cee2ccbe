// Package searxng asks a SearXNG instance through its JSON format. SearXNG asks
// other engines in turn: an empty list with engines that did not answer is their
// failure, not an answer.
package searxng

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/jsonapi"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pubdate"
)

// Name is the provider's name.
const Name = "searxng"

// maxQueryRunes keeps the query within an address line.
const maxQueryRunes = 1000

// Config is where SearXNG is asked.
type Config struct {
	// BaseURL is the address of the instance, with its path if it has one.
	BaseURL string
}

// Adapter is the SearXNG adapter.
type Adapter struct{ cfg Config }

// New makes the adapter.
func New(cfg Config) *Adapter { return &Adapter{cfg} }

// Name implements adapter.Adapter.
func (*Adapter) Name() string { return Name }

var capabilities = adapter.Capabilities{
	// Bing is among the engines behind it.
	Family: "searxng", NeedsAddress: true, Decoys: true,
	MaxPage: 50, AllowedDomains: adapter.MaxHinted, BlockedDomains: adapter.MaxHinted,
	Windows:   adapter.Windows(),
	Languages: locales.Languages(), Regions: locales.Regions(),
	SafeSearch: []adapter.SafeSearch{adapter.SafeOff, adapter.SafeModerate, adapter.SafeStrict},
	News:       true,
}

// Capabilities implements adapter.Adapter.
func (*Adapter) Capabilities() adapter.Capabilities { return capabilities }

var safe = map[adapter.SafeSearch]string{adapter.SafeOff: "0", adapter.SafeModerate: "1", adapter.SafeStrict: "2"}

// Plan implements adapter.Adapter.
func (a *Adapter) Plan(q adapter.Query) (adapter.Plan, error) {
	if a.cfg.BaseURL == "" {
		return adapter.Plan{}, fmt.Errorf("%w: SearXNG has no address of its own; set search.searxng.base_url to that of an instance", adapter.ErrNotConfigured)
	}
	q, dropped := capabilities.Fit(q)
	text, hinted := adapter.WithDomainHint(q, maxQueryRunes)
	if !hinted {
		dropped.Add(adapter.DomainOption(q))
	}
	category := "general"
	if q.News {
		category = "news"
	}
	params := "q=" + url.QueryEscape(text) + "&format=json&categories=" + category
	if locale, without, ok := locales.Pick(capabilities, q); ok {
		params += "&language=" + locale.Code
		dropped.Add(without...)
	}
	if q.PageNumber() > 1 {
		params += "&pageno=" + strconv.Itoa(q.PageNumber())
	}
	if q.Freshness.Window != "" {
		params += "&time_range=" + string(q.Freshness.Window)
	}
	if level := safe[q.SafeSearch]; level != "" {
		params += "&safesearch=" + level
	}
	return adapter.Plan{Dropped: dropped, Request: adapter.Request{
		Method: http.MethodGet,
		URL:    strings.TrimSuffix(a.cfg.BaseURL, "/") + "/search?" + params,
		Header: http.Header{"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}},
	}}, nil
}

type answer struct {
	Results *[]struct {
		Title     jsonapi.Text `json:"title"`
		URL       jsonapi.Text `json:"url"`
		Content   jsonapi.Text `json:"content"`
		Published jsonapi.Text `json:"publishedDate"`
	} `json:"results"`
	// Unresponsive is there in every answer.
	Unresponsive *[]jsonapi.Texts `json:"unresponsive_engines"`
}

// Parse implements adapter.Adapter.
func (a *Adapter) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	p, o := jsonapi.Read(r, nil, read)
	// An instance whose JSON format is off refuses it with 403; there is no key
	// to be wrong.
	if o.Code == outcome.AuthFailed && r.Status == http.StatusForbidden {
		o = outcome.Because(outcome.Config, "HTTP 403: the instance has its JSON format off; add json to search.formats in its settings.yml")
	}
	return p, o
}

func read(a answer, r adapter.Response) (adapter.Page, outcome.Outcome) {
	switch {
	case a.Results == nil:
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of results")
	case len(*a.Results) == 0 && a.Unresponsive == nil:
		// Nobody says that all engines behind it answered.
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "an empty list and no word about the engines behind it")
	case len(*a.Results) == 0 && len(*a.Unresponsive) > 0:
		return adapter.Page{}, unresponsive(*a.Unresponsive)
	case len(*a.Results) == 0:
		return adapter.Page{}, outcome.Because(outcome.EmptyVerified, "an empty list of results")
	}
	var rows adapter.Rows
	for _, row := range *a.Results {
		rows.Add(adapter.Result{
			Title: adapter.CleanText(string(row.Title)), URL: adapter.WebAddress(string(row.URL)),
			Snippet: adapter.CleanText(string(row.Content)), PublishedAt: pubdate.Parse(string(row.Published), r.ReceivedAt),
		})
	}
	return rows.Page("")
}

// unresponsive tells what kept the engines behind SearXNG from answering: what
// all of them say, else that they failed.
func unresponsive(engines []jsonapi.Texts) outcome.Outcome {
	detail := fmt.Sprintf("%d engines behind SearXNG did not answer", len(engines))
	all := func(words ...string) bool {
		return !slices.ContainsFunc(engines, func(e jsonapi.Texts) bool {
			reason := strings.ToLower(strings.Join(e, " "))
			return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(reason, w) })
		})
	}
	switch {
	case all("captcha", "access denied"):
		return outcome.Because(outcome.Challenge, detail+": blocked")
	case all("too many requests"):
		return outcome.Because(outcome.RateLimited, detail+": too many requests")
	case all("timeout"):
		return outcome.Because(outcome.Timeout, detail+": timeout")
	}
	return outcome.Because(outcome.Upstream5xx, detail)
}
