package provider

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	modelsPath = "/models"
	// maxCatalogue is how much of a list of models is read; the longest known
	// has some hundred kilobytes.
	maxCatalogue = 4 << 20
)

// Catalogue is what an endpoint says of its models.
type Catalogue struct {
	// URL is the address that was asked, as it may be shown.
	URL string
	// Answered says that somebody is there, whatever the answer was.
	Answered bool
	// HasList is false when the endpoint answers but keeps no list; Note is why.
	HasList bool
	Note    string
	// Models is how many are listed; Listed says that ours is among them.
	Models int
	Listed bool
	// Took is how long the answer took; Date is the endpoint's clock when it
	// answered and Asked ours, both zero when it did not tell.
	Took        time.Duration
	Date, Asked time.Time
}

// Probe asks the endpoint for its models: a question that costs nothing and
// shows whether the address and the key are good. What is known of an endpoint
// that refuses stands beside the error.
func (c *Client) Probe(ctx context.Context) (Catalogue, error) {
	at := *c.endpoint
	at.Path = strings.TrimSuffix(at.Path, completionsPath) + modelsPath
	say := c.explain
	say.url = displayURL(at.String())
	out := Catalogue{URL: say.url}
	began := time.Now()
	resp, err := c.get(ctx, &at)
	out.Took = time.Since(began)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return out, say.noList(ctx, out.Took)
		}
		return out, say.unreachable(err)
	}
	defer resp.Body.Close()
	out.Answered = true
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil && resp.Header.Get("Age") == "" {
		out.Date, out.Asked = date, began.Add(out.Took/2)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxCatalogue))
	switch {
	case err != nil && resp.StatusCode < http.StatusMultipleChoices:
		return out, say.truncated(resp.StatusCode, err)
	case resp.StatusCode < http.StatusMultipleChoices:
		out.read(body, c.cfg.Model)
		return out, nil
	case resp.StatusCode < http.StatusBadRequest:
		return out, say.redirected(resp.StatusCode, resp.Header)
	}
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		out.Note = statusText(resp.StatusCode) + " at " + say.url
		return out, nil
	}
	return out, say.answered(resp.StatusCode, resp.Header, readFailure(body))
}

// get sends the key as a model call does.
func (c *Client) get(ctx context.Context, at *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	c.cfg.header(req.Header)
	return c.transport.RoundTrip(req)
}

// read takes the list of OpenAI's {"data":[{"id":...}]}, which servers agree on.
func (o *Catalogue) read(body []byte, model string) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil {
		o.Note = "what " + o.URL + " answers is no list of models"
		return
	}
	o.HasList, o.Models = true, len(list.Data)
	o.Listed = slices.ContainsFunc(list.Data, func(m struct {
		ID string `json:"id"`
	}) bool {
		return sameModel(m.ID, model)
	})
}

// sameModel knows the names that stand for each other: Ollama lists "qwen3" as
// "qwen3:latest", Gemini lists names under "models/", and OpenRouter takes a
// variant behind a colon.
func sameModel(listed, model string) bool {
	listed, model = strings.TrimPrefix(listed, "models/"), strings.TrimPrefix(model, "models/")
	base, _, _ := strings.Cut(model, ":")
	return listed == model || listed == model+":latest" || listed == base
}
