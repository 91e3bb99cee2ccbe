package brave

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/jsonapi"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pubdate"
)

// LLM is the adapter of LLM Context.
type LLM struct{ cfg Config }

// NewLLM makes the adapter.
func NewLLM(cfg Config) *LLM { return &LLM{cfg} }

// Name implements adapter.Adapter.
func (*LLM) Name() string { return NameLLM }

// maxCount is the most pages of one answer.
const maxCount = 50

// maxGoggleDomains keeps the filter within a request line that servers take.
const maxGoggleDomains = 50

var llmCapabilities = adapter.Capabilities{
	Family: family, NeedsKey: true, CostUSD: costUSD,
	MaxQueryRunes: maxQueryRunes, MaxQueryWords: maxQueryWords, MaxCount: maxCount,
	AllowedDomains: maxGoggleDomains, BlockedDomains: maxGoggleDomains,
	Windows: adapter.Windows(), Range: true,
	Languages: allLanguages(), Regions: regions,
	Location: true, Passages: true, PassageTokens: true,
}

// Capabilities implements adapter.Adapter.
func (*LLM) Capabilities() adapter.Capabilities { return llmCapabilities }

// Bounds of the text in an answer, in tokens.
const (
	minTokens    = 1024
	maxTokens    = 32768
	minURLTokens = 512
	maxURLTokens = 8192
)

// Plan implements adapter.Adapter. Without passages asked for, only as much
// text is ordered as makes snippets.
func (a *LLM) Plan(q adapter.Query) (adapter.Plan, error) {
	if err := a.cfg.check(); err != nil {
		return adapter.Plan{}, err
	}
	q, dropped := llmCapabilities.Fit(q)
	text, short := llmCapabilities.Shorten(q.Text)
	var p params
	p.common(q, llmCapabilities, text)
	if q.Count > 0 {
		p.addInt("count", q.Count)
		p.addInt("maximum_number_of_urls", q.Count)
	}
	switch {
	case !q.Passages:
		p.addInt("maximum_number_of_tokens_per_url", minURLTokens)
	case q.PassageTokens > 0:
		tokens := min(max(q.PassageTokens, minTokens), maxTokens)
		p.addInt("maximum_number_of_tokens", tokens)
		p.addInt("maximum_number_of_tokens_per_url", min(max(tokens/2, minURLTokens), maxURLTokens))
	default:
		p.addInt("maximum_number_of_tokens", maxTokens/4)
	}
	p.domains(q, &dropped)
	// LLM Context has no header for the time zone.
	l := q.Location
	l.Timezone = ""
	header, whole := location(l)
	if !whole || l.IsZero() && !q.Location.IsZero() {
		dropped.Add(adapter.OptionLocation)
	}
	plan := adapter.Plan{Request: a.cfg.request("/res/v1/llm/context", p, header), Dropped: dropped}
	if short {
		plan.SentText = text
	}
	return plan, nil
}

// location are the headers that tell where the asking person is. It reports
// false when a name cannot stand in a header and was left out.
func location(l adapter.Location) (h http.Header, whole bool) {
	h, whole = http.Header{}, true
	set := func(name, value string) {
		switch {
		case value == "":
		case isHeaderText(value):
			h.Set(name, value)
		default:
			whole = false
		}
	}
	if l.HasPoint() {
		set("X-Loc-Lat", strconv.FormatFloat(l.Latitude, 'f', -1, 64))
		set("X-Loc-Long", strconv.FormatFloat(l.Longitude, 'f', -1, 64))
	}
	set("X-Loc-City", l.City)
	set("X-Loc-State-Name", l.Region)
	set("X-Loc-Country", l.Country)
	set("X-Loc-Timezone", l.Timezone)
	return h, whole
}

func isHeaderText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

type llmAnswer struct {
	Grounding jsonapi.Maybe[grounding]                        `json:"grounding"`
	Sources   jsonapi.Maybe[map[string]jsonapi.Maybe[source]] `json:"sources"`
}

type grounding struct {
	Generic jsonapi.List[grounded]  `json:"generic"`
	POI     jsonapi.Maybe[grounded] `json:"poi"`
	Places  jsonapi.List[grounded]  `json:"map"`
	// unread are how many parts there are beside these three that hold
	// something: it may be results.
	unread int
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *grounding) UnmarshalJSON(b []byte) error {
	type fields grounding
	var parts map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(b, (*fields)(g)), json.Unmarshal(b, &parts)); err != nil {
		return err
	}
	read := map[string]bool{"generic": g.Generic.There, "poi": g.POI.There, "map": g.Places.There}
	for name, raw := range parts {
		if !read[name] && !isEmpty(raw) {
			g.unread++
		}
	}
	return nil
}

// isEmpty reports whether nothing stands there.
func isEmpty(raw json.RawMessage) bool {
	return slices.Contains([]string{"null", "[]", "{}"}, strings.Join(strings.Fields(string(raw)), ""))
}

type source struct {
	Hostname jsonapi.Text  `json:"hostname"`
	SiteName jsonapi.Text  `json:"site_name"`
	Age      jsonapi.Texts `json:"age"`
}

type grounded struct {
	URL      jsonapi.Text  `json:"url"`
	Title    jsonapi.Text  `json:"title"`
	Name     jsonapi.Text  `json:"name"`
	Snippets jsonapi.Texts `json:"snippets"`
}

// Parse implements adapter.Adapter.
func (a *LLM) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return jsonapi.Read(r, refusal, readLLM)
}

func readLLM(answer llmAnswer, r adapter.Response) (adapter.Page, outcome.Outcome) {
	g := answer.Grounding.Value
	if !g.Generic.There {
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list of grounding texts")
	}
	places := g.Places.Rows
	if g.POI.There {
		places = append([]grounded{g.POI.Value}, places...)
	}
	if len(g.Generic.Rows)+len(places) == 0 {
		if g.unread > 0 {
			return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "grounding texts of a kind that is not known")
		}
		return adapter.Page{CostUSD: costUSD}, outcome.Because(outcome.EmptyVerified, "an empty list of grounding texts")
	}
	var rows adapter.Rows
	add := func(g grounded) {
		source := answer.Sources.Value[string(g.URL)].Value
		passages := jsonapi.Passages(g.Snippets)
		rows.Add(adapter.Result{
			Title: firstClean(g.Title, g.Name), URL: string(g.URL),
			Snippet: jsonapi.FirstProse(passages), PublishedAt: published(source.Age, r),
			SiteName: firstClean(source.SiteName, source.Hostname), Passages: passages,
		})
	}
	for _, g := range g.Generic.Rows {
		add(g)
	}
	for _, g := range places {
		// A place may have no page of its own: then there is nothing to lead to.
		if g.URL == "" {
			rows.Skip()
			continue
		}
		add(g)
	}
	for range g.unread {
		rows.Skip()
	}
	p, o := rows.Page("")
	p.CostUSD = costUSD
	return p, o
}

// published reads the first of several forms of one date.
func published(forms []string, r adapter.Response) string {
	for _, form := range forms {
		if at := pubdate.Parse(form, r.ReceivedAt); at != "" {
			return at
		}
	}
	return ""
}

func firstClean(candidates ...jsonapi.Text) string {
	for _, c := range candidates {
		if clean := adapter.CleanText(string(c)); clean != "" {
			return clean
		}
	}
	return ""
}
