// Package searxng asks a SearXNG instance through its JSON format. SearXNG asks
// other engines in turn: an empty list with engines that did not answer is their
// failure, not an answer.
package searxng

import (
	"cmp"
	"encoding/json"
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
	Results   jsonapi.List[row]             `json:"results"`
	Infoboxes jsonapi.List[infobox]         `json:"infoboxes"`
	Answers   jsonapi.List[json.RawMessage] `json:"answers"`
	// Unresponsive is there in every answer: names with reasons.
	Unresponsive jsonapi.List[jsonapi.Texts] `json:"unresponsive_engines"`
}

type row struct {
	Title     jsonapi.Text `json:"title"`
	URL       jsonapi.Text `json:"url"`
	Content   jsonapi.Text `json:"content"`
	Published jsonapi.Text `json:"publishedDate"`
	Template  jsonapi.Text `json:"template"`
}

// keyValue is the template of rows that are tables of values and lead nowhere.
const keyValue = "keyvalue.html"

// infobox is what an encyclopaedia says about the subject of a query. It may be
// the only place where its page stands.
type infobox struct {
	Title   jsonapi.Text        `json:"infobox"`
	ID      jsonapi.Text        `json:"id"`
	Content jsonapi.Text        `json:"content"`
	URLs    jsonapi.List[named] `json:"urls"`
}

type named struct {
	URL jsonapi.Text `json:"url"`
}

// address is the page that the box is taken from.
func (b infobox) address() string {
	at := adapter.WebAddress(string(b.ID))
	for _, u := range b.URLs.Rows {
		at = cmp.Or(at, adapter.WebAddress(string(u.URL)))
	}
	return at
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
	none := a.Results.Empty() && len(a.Infoboxes.Rows) == 0
	switch {
	case !a.Results.There:
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of results")
	case none && !a.Unresponsive.There:
		// Nobody says that all engines behind it answered.
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "an empty list and no word about the engines behind it")
	case none && len(a.Unresponsive.Rows) > 0:
		return adapter.Page{}, unresponsive(a.Unresponsive.Rows)
	case none && len(a.Answers.Rows) > 0:
		return adapter.Page{}, outcome.Because(outcome.EmptyVerified, "an empty list of results, beside an answer of its own that leads to no page")
	case none:
		return adapter.Page{}, outcome.Because(outcome.EmptyVerified, "an empty list of results")
	}
	p, o := rows(a, r).Page("")
	if failed := len(a.Unresponsive.Rows); failed > 0 && o.Code.HasResults() {
		o = o.Noting(silent(failed))
	}
	return p, o
}

// rows are the results and, behind them, the infoboxes whose pages are not
// among them.
func rows(a answer, r adapter.Response) *adapter.Rows {
	var rows adapter.Rows
	seen := map[string]bool{}
	for _, row := range a.Results.Rows {
		if row.Template == keyValue && row.URL == "" {
			rows.Skip()
			continue
		}
		at := adapter.WebAddress(string(row.URL))
		seen[at] = true
		rows.Add(adapter.Result{
			Title: adapter.CleanText(string(row.Title)), URL: at,
			Snippet: adapter.CleanText(string(row.Content)), PublishedAt: pubdate.Parse(string(row.Published), r.ReceivedAt),
		})
	}
	for _, box := range a.Infoboxes.Rows {
		switch at := box.address(); {
		case at == "":
			rows.Skip()
		case !seen[at]:
			seen[at] = true
			rows.Add(adapter.Result{Title: adapter.CleanText(string(box.Title)), URL: at, Snippet: adapter.CleanText(string(box.Content))})
		}
	}
	return &rows
}

func silent(engines int) string {
	if engines == 1 {
		return "1 engine behind SearXNG did not answer"
	}
	return fmt.Sprintf("%d engines behind SearXNG did not answer", engines)
}

// unresponsive tells what kept the engines behind SearXNG from answering: what
// all of them say, else that they failed.
func unresponsive(engines []jsonapi.Texts) outcome.Outcome {
	detail := silent(len(engines))
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
