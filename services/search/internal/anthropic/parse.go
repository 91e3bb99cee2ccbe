package anthropic

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/jsonapi"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pubdate"
)

type answer struct {
	Content    *[]block     `json:"content"`
	StopReason jsonapi.Text `json:"stop_reason"`
	Usage      struct {
		InputTokens  float64 `json:"input_tokens"`
		OutputTokens float64 `json:"output_tokens"`
		ServerTools  struct {
			Searches float64 `json:"web_search_requests"`
		} `json:"server_tool_use"`
	} `json:"usage"`
}

type block struct {
	Type jsonapi.Text `json:"type"`
	Name jsonapi.Text `json:"name"`
	// Input is that of a server_tool_use.
	Input json.RawMessage `json:"input"`
	// Content is that of a web_search_tool_result: a list of results, or an
	// object that is an error.
	Content json.RawMessage `json:"content"`
	// Citations are those of a text.
	Citations []citation `json:"citations"`
}

type citation struct {
	URL   jsonapi.Text `json:"url"`
	Cited jsonapi.Text `json:"cited_text"`
}

type webResult struct {
	Title   jsonapi.Text `json:"title"`
	URL     jsonapi.Text `json:"url"`
	PageAge jsonapi.Text `json:"page_age"`
}

type searchError struct {
	Code jsonapi.Text `json:"error_code"`
}

// found is what the blocks of an answer hold.
type found struct {
	called   bool
	answered bool
	query    string
	results  []webResult
	failure  string
	// quotes by address.
	quotes map[string][]string
}

// Parse implements adapter.Adapter.
func (a *Adapter) Parse(r adapter.Response) (adapter.Page, outcome.Outcome) {
	return jsonapi.Read(r, refusal, a.read)
}

// paused reports whether the turn was interrupted before there were results.
func paused(r adapter.Response) bool {
	var got answer
	if r.Status != http.StatusOK || json.Unmarshal(r.Body, &got) != nil || got.Content == nil {
		return false
	}
	return got.StopReason == "pause_turn" && !collect(*got.Content).answered
}

func (a *Adapter) read(got answer, r adapter.Response) (adapter.Page, outcome.Outcome) {
	if got.Content == nil {
		if o, ok := refusal(r); ok {
			return adapter.Page{}, o
		}
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no content")
	}
	f := collect(*got.Content)
	p := adapter.Page{CostUSD: a.cost(got), SearchedQuery: f.query}
	switch {
	case !f.called && !f.answered && got.StopReason == "refusal":
		return p, outcome.Because(outcome.BadRequest, "the model refused to search")
	case !f.answered && got.StopReason == "pause_turn":
		return p, outcome.Because(outcome.Timeout, "the turn was paused before the search was made")
	case !f.called && !f.answered:
		// Endpoints that speak the protocol without having the tool answer in
		// prose (CLIProxyAPI#3132, claude-code#13546).
		return p, outcome.Because(outcome.UnsupportedOption, "the endpoint answered without searching")
	case !f.answered:
		return p, outcome.Because(outcome.LayoutUnrecognised, "a search without its results")
	case f.failure != "":
		return p, failed(f.failure)
	case len(f.results) == 0:
		return p, outcome.Because(outcome.EmptyVerified, "an empty list of results")
	}
	var rows adapter.Rows
	for _, res := range f.results {
		quotes := f.quotes[string(res.URL)]
		rows.Add(adapter.Result{
			Title: adapter.CleanText(string(res.Title)), URL: adapter.WebAddress(string(res.URL)),
			Snippet:     adapter.CleanText(strings.Join(quotes, " … ")),
			PublishedAt: pubdate.Parse(string(res.PageAge), r.ReceivedAt),
			Passages:    jsonapi.Passages(quotes),
		})
	}
	read, o := rows.Page("")
	p.Results = read.Results
	return p, o
}

// collect reads the blocks. Results that came before an error stay results.
func collect(blocks []block) found {
	f := found{quotes: map[string][]string{}}
	for _, b := range blocks {
		switch {
		case b.Type == "server_tool_use" && b.Name == toolName:
			f.called = true
			var in struct {
				Query jsonapi.Text `json:"query"`
			}
			if f.query == "" && json.Unmarshal(b.Input, &in) == nil {
				f.query = adapter.CleanText(string(in.Query))
			}
		case b.Type == "web_search_tool_result":
			f.result(b.Content)
		}
		for _, c := range b.Citations {
			quote := strings.TrimSpace(string(c.Cited))
			if at := string(c.URL); quote != "" && !slices.Contains(f.quotes[at], quote) {
				f.quotes[at] = append(f.quotes[at], quote)
			}
		}
	}
	if len(f.results) > 0 {
		f.failure = ""
	}
	return f
}

// result reads the content of a result block. One that is neither a list nor an
// error leaves the search without its results.
func (f *found) result(content json.RawMessage) {
	var list []webResult
	var failure searchError
	switch {
	case len(content) > 0 && content[0] == '[' && json.Unmarshal(content, &list) == nil:
		f.answered = true
		f.results = append(f.results, list...)
	case len(content) > 0 && content[0] == '{' && json.Unmarshal(content, &failure) == nil && failure.Code != "":
		f.answered = true
		f.failure = string(failure.Code)
	}
}

// failed is the outcome of an error that stands where the results should be,
// within an answer of status 200.
func failed(code string) outcome.Outcome {
	c, ok := map[string]outcome.Code{
		"too_many_requests": outcome.RateLimited, "unavailable": outcome.Upstream5xx,
		"invalid_tool_input": outcome.BadRequest, "query_too_long": outcome.BadRequest, "request_too_large": outcome.BadRequest,
		"max_uses_exceeded": outcome.BadRequest,
	}[code]
	if !ok {
		return outcome.Because(outcome.Upstream5xx, "an error of the tool that is not known")
	}
	return outcome.Because(c, "anthropic: "+code)
}

// refusal reads an error of the API as a whole.
func refusal(r adapter.Response) (outcome.Outcome, bool) {
	var e struct {
		Error struct {
			Type jsonapi.Text `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(r.Body, &e) != nil {
		return outcome.Outcome{}, false
	}
	c, ok := map[jsonapi.Text]outcome.Code{
		"authentication_error": outcome.AuthFailed, "permission_error": outcome.AuthFailed,
		"billing_error": outcome.QuotaExhausted, "rate_limit_error": outcome.RateLimited,
		"invalid_request_error": outcome.BadRequest, "request_too_large": outcome.BadRequest,
		"not_found_error": outcome.Config, "timeout_error": outcome.Timeout,
		"api_error": outcome.Upstream5xx, "overloaded_error": outcome.Upstream5xx,
	}[e.Error.Type]
	return outcome.Because(c, "anthropic: "+string(e.Error.Type)), ok
}

// cost is what the answer says was used, at the prices that are known.
func (a *Adapter) cost(got answer) float64 {
	const million = 1e6
	u := got.Usage
	return u.ServerTools.Searches*searchUSD + (u.InputTokens*a.cfg.InputUSD+u.OutputTokens*a.cfg.OutputUSD)/million
}
