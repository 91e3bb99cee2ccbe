package brave

import (
	"net/http"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/correction"
	"github.com/nanoclaw/nanoclaw/services/search/internal/jsonapi"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// Web is the adapter of Web Search and News Search.
type Web struct{ cfg Config }

// NewWeb makes the adapter.
func NewWeb(cfg Config) *Web { return &Web{cfg} }

// Name implements adapter.Adapter.
func (*Web) Name() string { return NameWeb }

const (
	webMaxCount = 20
	// maxPage is Brave's greatest offset, 9, as a page counted from 1.
	maxPage = 10
)

var webCapabilities = adapter.Capabilities{
	Family: family, NeedsKey: true, CostUSD: costUSD,
	MaxQueryRunes: maxQueryRunes, MaxQueryWords: maxQueryWords, MaxCount: webMaxCount, MaxPage: maxPage,
	AllowedDomains: maxGoggleDomains, BlockedDomains: maxGoggleDomains,
	Windows: adapter.Windows(), Range: true,
	Languages: allLanguages(), Regions: regions,
	SafeSearch: []adapter.SafeSearch{adapter.SafeOff, adapter.SafeModerate, adapter.SafeStrict},
	Location:   true, News: true, Passages: true,
}

// Capabilities implements adapter.Adapter.
func (*Web) Capabilities() adapter.Capabilities { return webCapabilities }

// Plan implements adapter.Adapter. The offset is a page counted from 0, not a
// row.
func (a *Web) Plan(q adapter.Query) (adapter.Plan, error) {
	if err := a.cfg.check(); err != nil {
		return adapter.Plan{}, err
	}
	q, dropped := webCapabilities.Fit(q)
	text, short := webCapabilities.Shorten(q.Text)
	var p params
	p.common(q, webCapabilities, text)
	if q.Count > 0 {
		p.addInt("count", q.Count)
	}
	if q.PageNumber() > 1 {
		p.addInt("offset", q.PageNumber()-1)
	}
	if q.SafeSearch != adapter.SafeDefault {
		p.add("safesearch", string(q.SafeSearch))
	}
	if q.Passages {
		p.add("extra_snippets", "true")
	}
	p.domains(q, &dropped)
	path, header := "/res/v1/web/search", http.Header{}
	if q.News {
		path = "/res/v1/news/search"
		if !q.Location.IsZero() {
			dropped.Add(adapter.OptionLocation)
		}
	} else {
		p.add("result_filter", "web,query")
		p.add("text_decorations", "false")
		var whole bool
		if header, whole = location(q.Location); !whole {
			dropped.Add(adapter.OptionLocation)
		}
	}
	plan := adapter.Plan{Request: a.cfg.request(path, p, header), Dropped: dropped}
	if short {
		plan.SentText = text
	}
	return plan, nil
}

type webAnswer struct {
	Type  jsonapi.Text             `json:"type"`
	Query jsonapi.Maybe[webQuery]  `json:"query"`
	Mixed jsonapi.Maybe[mixed]     `json:"mixed"`
	Web   jsonapi.Maybe[webResult] `json:"web"`
	// Results are those of the news.
	Results jsonapi.List[webRow] `json:"results"`
}

type webQuery struct {
	Original jsonapi.Text `json:"original"`
	Altered  jsonapi.Text `json:"altered"`
}

// mixed is the order in which the kinds of results are to be shown.
type mixed struct {
	Main jsonapi.List[struct{}] `json:"main"`
}

type webResult struct {
	Results jsonapi.List[webRow] `json:"results"`
}

type webRow struct {
	Title       jsonapi.Text           `json:"title"`
	URL         jsonapi.Text           `json:"url"`
	Description jsonapi.Text           `json:"description"`
	Age         jsonapi.Text           `json:"age"`
	PageAge     jsonapi.Text           `json:"page_age"`
	Language    jsonapi.Text           `json:"language"`
	Extra       jsonapi.Texts          `json:"extra_snippets"`
	Profile     jsonapi.Maybe[profile] `json:"profile"`
	MetaURL     jsonapi.Maybe[metaURL] `json:"meta_url"`
}

type profile struct {
	Name jsonapi.Text `json:"name"`
}

type metaURL struct {
	Hostname jsonapi.Text `json:"hostname"`
}

// Parse implements adapter.Adapter.
func (a *Web) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return jsonapi.Read(r, refusal, readWeb)
}

func readWeb(answer webAnswer, r adapter.Response) (adapter.Page, outcome.Outcome) {
	list := answer.Results
	if answer.Web.There {
		list = answer.Web.Value.Results
	}
	switch {
	case !answer.Web.There && !list.There && answer.Type == "search" && answer.Mixed.Value.Main.Empty():
		// Without results there is no list of them, and the order in which the
		// kinds of results are to be shown is empty.
		return adapter.Page{CostUSD: costUSD}, outcome.Because(outcome.EmptyVerified, "nothing to show")
	case !list.There:
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of results")
	case list.Empty():
		return adapter.Page{CostUSD: costUSD}, outcome.Because(outcome.EmptyVerified, "an empty list of results")
	}
	var rows adapter.Rows
	for _, row := range list.Rows {
		rows.Add(adapter.Result{
			Title: adapter.CleanText(string(row.Title)), URL: string(row.URL),
			Snippet:     adapter.PlainText(string(row.Description)),
			PublishedAt: published([]string{string(row.PageAge), string(row.Age)}, r),
			SiteName:    firstClean(row.Profile.Value.Name, row.MetaURL.Value.Hostname),
			Language:    string(row.Language),
			Passages:    jsonapi.Passages(row.Extra),
		})
	}
	altered := adapter.CleanText(string(answer.Query.Value.Altered))
	if correction.Same(string(answer.Query.Value.Original), altered) {
		altered = ""
	}
	p, o := rows.Page(altered)
	p.CostUSD = costUSD
	return p, o
}
