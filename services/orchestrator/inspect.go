package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider/arguments"
)

// inspectEndpoint stands for the endpoint whose answer is inspected. Nothing is
// ever asked there.
const inspectEndpoint = "http://inspect.invalid/v1"

// StreamInput is one recorded answer of a model's endpoint.
type StreamInput struct {
	Name string `json:"name"`
	// Status is the HTTP status; 0 means 200.
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	// Wire is the body as it came.
	Wire    string         `json:"wire"`
	Profile *StreamProfile `json:"profile"`
}

// StreamProfile says what is known of the endpoint and of the request.
type StreamProfile struct {
	// Name is a profile of the configuration; the others are added to it.
	Name      string           `json:"name"`
	ThinkTags bool             `json:"think_tags"`
	TextCalls provider.Grammar `json:"text_calls"`
	// Tools are the names that the request offered. Where none are told, a call in
	// the text may name any.
	Tools []string `json:"tools"`
}

// StreamReport is what the orchestrator reads in it. Every field is always
// present.
type StreamReport struct {
	Name      string       `json:"name"`
	Text      string       `json:"text"`
	Reasoning string       `json:"reasoning"`
	ToolCalls []StreamCall `json:"tool_calls"`
	// Finish is the reason to stop, "truncated" for a stream that was cut and
	// "error" for every other failure.
	Finish string       `json:"finish"`
	Error  *StreamError `json:"error"`
	// Usage is null where the provider told none.
	Usage *StreamUsage `json:"usage"`
	// Passback is what the next request carries of the answer; null for nothing.
	Passback json.RawMessage `json:"passback"`
	Warnings []string        `json:"warnings"`
}

// StreamCall is a tool call, its arguments read as the gate reads them.
type StreamCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is null where they cannot be read.
	Arguments json.RawMessage    `json:"arguments"`
	Repairs   []arguments.Repair `json:"repairs,omitempty"`
	Error     string             `json:"error,omitempty"`
}

// StreamError is a failure of the call.
type StreamError struct {
	Kind string `json:"kind"`
	// Message is what the provider said, and our words where it said nothing.
	Message     string  `json:"message"`
	Code        string  `json:"code,omitempty"`
	RetryAfterS float64 `json:"retry_after_s,omitempty"`
	Retryable   bool    `json:"retryable"`
	// Explanation is what a user is told.
	Explanation string `json:"explanation"`
}

// StreamUsage counts tokens.
type StreamUsage struct {
	Prompt     int `json:"prompt"`
	Completion int `json:"completion"`
	Cached     int `json:"cached"`
	Reasoning  int `json:"reasoning"`
}

// InspectStream reads a recorded answer through the very client that runs ask
// their models with; only the connection is another. It uses no network. The
// error says why the profile cannot be applied; a failure of the model's call is
// part of the report.
func InspectStream(in StreamInput) (StreamReport, error) {
	cfg := provider.Config{Model: "inspected", APIURL: inspectEndpoint, HTTPTransport: recorded(in)}
	req := provider.Request{Messages: []provider.Message{{Role: provider.RoleUser, Content: "inspect"}}}
	if p := in.Profile; p != nil {
		known, err := provider.NamedProfile(p.Name, inspectEndpoint)
		if err != nil {
			return StreamReport{}, err
		}
		cfg.Profile = known
		cfg.Profile.ThinkTags = known.ThinkTags || p.ThinkTags
		cfg.Profile.AnyTool = len(p.Tools) == 0
		if p.TextCalls != "" {
			cfg.Profile.TextCalls = p.TextCalls
		}
		for _, name := range p.Tools {
			req.Tools = append(req.Tools, provider.ToolSpec{Name: name})
		}
	}
	client, err := provider.New(cfg)
	if err != nil {
		return StreamReport{}, err
	}
	defer client.Close()
	resp, err := client.Stream(context.Background(), req, func(provider.Delta) error { return nil })
	return streamReport(in.Name, resp, err)
}

// recorded is a transport whose answer is in.
type recorded StreamInput

// RoundTrip implements http.RoundTripper.
func (r recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := &http.Response{
		StatusCode: r.Status, Header: http.Header{}, Request: req,
		Body: io.NopCloser(strings.NewReader(r.Wire)),
	}
	if resp.StatusCode == 0 {
		resp.StatusCode = http.StatusOK
	}
	for name, value := range r.Headers {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

func streamReport(name string, resp provider.Response, failure error) (StreamReport, error) {
	r := StreamReport{
		Name: name, Text: resp.Text, Reasoning: resp.Reasoning, ToolCalls: []StreamCall{},
		Finish: string(resp.Finish), Warnings: append([]string{}, resp.Warnings...),
	}
	if u := resp.Usage; !u.Estimated && u != (provider.Usage{}) {
		r.Usage = &StreamUsage{Prompt: u.InputTokens, Completion: u.OutputTokens, Cached: u.CachedTokens, Reasoning: u.ReasoningTokens}
	}
	for _, c := range resp.Calls {
		call := StreamCall{ID: c.ID, Name: c.Name}
		if o, err := arguments.Read(c.Arguments); err != nil {
			call.Error = err.Error()
		} else {
			call.Arguments, call.Repairs = json.RawMessage(o.JSON), o.Repairs
		}
		r.ToolCalls = append(r.ToolCalls, call)
	}
	var err error
	if r.Passback, err = provider.Passback(resp); err != nil {
		return StreamReport{}, err
	}
	if failure != nil {
		r.ToolCalls = []StreamCall{} // none is run of an answer that failed
		r.Finish, r.Error = "error", streamError(failure)
		if r.Error.Kind == "stream_truncated" {
			r.Finish = "truncated"
		}
	}
	return r, nil
}

func streamError(failure error) *StreamError {
	e, ok := errors.AsType[*provider.Error](failure)
	if !ok {
		return &StreamError{Kind: "provider", Message: failure.Error(), Explanation: failure.Error()}
	}
	out := &StreamError{
		Kind: streamErrorKind(e), Message: e.Detail, Code: e.Code, RetryAfterS: e.RetryAfter.Seconds(),
		Retryable: e.Retryable(), Explanation: e.Message,
	}
	if out.Message == "" {
		out.Message = e.Message
	}
	return out
}

// streamErrorKind names a failure as the corpus of recorded answers does.
func streamErrorKind(e *provider.Error) string {
	upstream := e.Status >= http.StatusInternalServerError
	switch e.Kind {
	case provider.KindRateLimited:
		return "rate_limit"
	case provider.KindBadRequest:
		return "invalid_request"
	case provider.KindTruncated:
		return "stream_truncated"
	case provider.KindMalformed:
		return "bad_response"
	case provider.KindServer, provider.KindOverloaded:
		if !upstream {
			return "provider"
		}
		return "upstream_5xx"
	case provider.KindTimeout:
		if upstream {
			return "upstream_5xx"
		}
	}
	return string(e.Kind)
}

// ArgsInput is one text of arguments as a model wrote it.
type ArgsInput struct {
	Name  string `json:"name"`
	Input string `json:"input"`
	// Finish is why the model stopped. Arguments that "length" may have cut are
	// never repaired.
	Finish string `json:"finish"`
}

// ArgsReport is what the gate reads in it, before it asks the tool's schema.
// Every field is always present.
type ArgsReport struct {
	Name    string             `json:"name"`
	OK      bool               `json:"ok"`
	Value   json.RawMessage    `json:"value"`
	Repairs []arguments.Repair `json:"repairs"`
	// Light says that nothing had to be guessed, so that tools which change things
	// take it as well.
	Light bool   `json:"light"`
	Error string `json:"error"`
}

// InspectArgs reads arguments with the very function that the gate uses.
func InspectArgs(in ArgsInput) ArgsReport {
	read := arguments.Read
	if provider.Finish(in.Finish) == provider.FinishLength {
		read = arguments.Exact
	}
	r := ArgsReport{Name: in.Name, Repairs: []arguments.Repair{}}
	o, err := read(in.Input)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.OK, r.Value, r.Light = true, json.RawMessage(o.JSON), o.Light()
	r.Repairs = append(r.Repairs, o.Repairs...)
	return r
}
