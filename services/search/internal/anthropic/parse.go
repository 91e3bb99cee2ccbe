package anthropic

import (
	"cmp"
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
	Content    jsonapi.List[block]  `json:"content"`
	StopReason jsonapi.Text         `json:"stop_reason"`
	Usage      jsonapi.Maybe[usage] `json:"usage"`
}

type usage struct {
	InputTokens  jsonapi.Number             `json:"input_tokens"`
	OutputTokens jsonapi.Number             `json:"output_tokens"`
	ServerTools  jsonapi.Maybe[serverTools] `json:"server_tool_use"`
}

type serverTools struct {
	Searches jsonapi.Number `json:"web_search_requests"`
}

type block struct {
	Type jsonapi.Text `json:"type"`
	Name jsonapi.Text `json:"name"`
	// Input is that of a server_tool_use.
	Input jsonapi.Maybe[input] `json:"input"`
	// Content is that of a web_search_tool_result: a list of results, or an
	// object that is an error.
	Content json.RawMessage `json:"content"`
	// Citations are those of a text.
	Citations jsonapi.List[citation] `json:"citations"`
}

type input struct {
	Query jsonapi.Text `json:"query"`
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
	if r.Status != http.StatusOK || json.Unmarshal(r.Body, &got) != nil || !got.Content.There {
		return false
	}
	return got.StopReason == "pause_turn" && !collect(got.Content.Rows).answered
}

func (a *Adapter) read(got answer, r adapter.Response) (adapter.Page, outcome.Outcome) {
	if !got.Content.There {
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no content")
	}
	f := collect(got.Content.Rows)
	p := adapter.Page{CostUSD: a.cost(got), SearchedQuery: f.query}
	switch {
	case !f.called && !f.answered && got.StopReason == "refusal":
		return p, outcome.Because(outcome.BadRequest, "the model refused to search")
	case !f.called && !f.answered && (got.StopReason == "max_tokens" || got.StopReason == "model_context_window_exceeded"):
		return p, outcome.Because(outcome.LayoutUnrecognised, "the answer was cut before the search: "+string(got.StopReason))
	case !f.answered && got.StopReason == "pause_turn":
		return p, outcome.Because(outcome.Timeout, "the turn was paused before the search was made")
	case !f.called && !f.answered:
		// Endpoints that speak the protocol without having the tool answer in
		// prose (CLIProxyAPI#3132, claude-code#13546).
		return p, outcome.Because(outcome.UnsupportedOption, "the endpoint answered without searching")
	case !f.answered:
		return p, outcome.Because(outcome.LayoutUnrecognised, "a search without its results")
	case f.failure != "" && len(f.results) == 0:
		return p, failed(f.failure)
	case len(f.results) == 0:
		return p, outcome.Because(outcome.EmptyVerified, "an empty list of results")
	}
	var rows adapter.Rows
	for _, res := range f.results {
		quotes := f.quotes[string(res.URL)]
		rows.Add(adapter.Result{
			Title: adapter.CleanText(string(res.Title)), URL: string(res.URL),
			Snippet:     adapter.CleanText(strings.Join(quotes, " … ")),
			PublishedAt: pubdate.Parse(string(res.PageAge), r.ReceivedAt),
			Passages:    jsonapi.Passages(quotes),
		})
	}
	read, o := rows.Page("")
	p.Results = read.Results
	if f.failure != "" {
		o = o.Noting("after the results an error")
	}
	return p, o
}

// collect reads the blocks. Results that came before an error stay results.
func collect(blocks []block) found {
	f := found{quotes: map[string][]string{}}
	for _, b := range blocks {
		switch {
		case b.Type == "server_tool_use" && b.Name == toolName:
			f.called = true
			f.query = cmp.Or(f.query, adapter.Line(string(b.Input.Value.Query)))
		case b.Type == "web_search_tool_result":
			f.result(b.Content)
		}
		for _, c := range b.Citations.Rows {
			quote := strings.TrimSpace(string(c.Cited))
			if at := string(c.URL); quote != "" && !slices.Contains(f.quotes[at], quote) {
				f.quotes[at] = append(f.quotes[at], quote)
			}
		}
	}
	return f
}

// result reads the content of a result block. One that is neither a list nor an
// error leaves the search without its results.
func (f *found) result(content json.RawMessage) {
	var list jsonapi.List[webResult]
	var failure searchError
	_ = list.UnmarshalJSON(content) // never fails
	switch {
	case list.There:
		f.answered = true
		f.results = append(f.results, list.Rows...)
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
		Error jsonapi.Maybe[struct {
			Type    jsonapi.Text `json:"type"`
			Message jsonapi.Text `json:"message"`
		}] `json:"error"`
	}
	if json.Unmarshal(r.Body, &e) != nil {
		return outcome.Outcome{}, false
	}
	said := e.Error.Value
	if words := strings.ToLower(string(said.Message)); said.Type == "invalid_request_error" {
		// Two errors come under this name that no other query would mend.
		switch {
		case strings.Contains(words, "credit balance"):
			return outcome.Because(outcome.QuotaExhausted, "anthropic: the credit balance is too low"), true
		case strings.Contains(words, "web search") || strings.Contains(words, toolName):
			return outcome.Because(outcome.Config, "anthropic: the model or the organisation has no such web search"), true
		}
	}
	c, ok := map[jsonapi.Text]outcome.Code{
		"authentication_error": outcome.AuthFailed, "permission_error": outcome.AuthFailed,
		"billing_error": outcome.QuotaExhausted, "rate_limit_error": outcome.RateLimited,
		"invalid_request_error": outcome.BadRequest, "request_too_large": outcome.BadRequest,
		"not_found_error": outcome.Config, "timeout_error": outcome.Timeout,
		"api_error": outcome.Upstream5xx, "overloaded_error": outcome.Upstream5xx,
	}[said.Type]
	return outcome.Because(c, "anthropic: "+string(said.Type)), ok
}

// cost is what the answer says was used, at the prices that are known.
func (a *Adapter) cost(got answer) float64 {
	const million = 1e6
	u := got.Usage.Value
	tokens := float64(u.InputTokens)*a.cfg.InputUSD + float64(u.OutputTokens)*a.cfg.OutputUSD
	return float64(u.ServerTools.Value.Searches)*searchUSD + tokens/million
}
