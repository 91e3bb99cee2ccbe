package search

import (
	"cmp"
	"fmt"
	"net/http"
	"os"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/catalog"
	"github.com/nanoclaw/nanoclaw/services/search/internal/generic"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/transport"
)

// InspectInput is one captured answer of an engine.
type InspectInput struct {
	ID string `json:"id"`
	// Provider is the engine; one without an adapter, "generic" for example,
	// is only classified.
	Provider string `json:"provider"`
	Query    string `json:"query"`
	// Status is the HTTP status; 0 means 200.
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	// Body is the page; when empty it is read from Path, in whatever
	// encoding it has.
	Body string `json:"body"`
	Path string `json:"path"`
}

// InspectOutput is what the service makes of it.
type InspectOutput struct {
	ID           string          `json:"id"`
	Outcome      string          `json:"outcome"`
	Detail       string          `json:"detail,omitempty"`
	AlteredQuery string          `json:"altered_query"`
	Results      []InspectResult `json:"results"`
}

// InspectResult is one result on the page.
type InspectResult struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Snippet     string `json:"snippet"`
	PublishedAt string `json:"published_at"`
}

// InspectResults reads a captured answer with the very functions that Search
// uses: decoding, the adapter, the guard against rows of other queries. It uses
// no network. Ages ("3 days ago") stay unread, since nobody knows when the page
// was captured. The error says why the page could not be had.
func InspectResults(in InspectInput) (InspectOutput, error) {
	raw, err := in.page()
	if err != nil {
		return InspectOutput{}, err
	}
	header := http.Header{}
	for k, v := range in.Headers {
		header.Set(k, v)
	}
	resp := adapter.Response{
		Status: cmp.Or(in.Status, http.StatusOK),
		Header: header,
		Query:  in.Query,
		Body:   transport.UTF8(raw, header.Get("Content-Type")),
	}
	p, o := read(in.Provider, resp, in.Query)
	out := InspectOutput{ID: in.ID, Outcome: string(o.Code), Detail: o.Detail, AlteredQuery: p.AlteredQuery, Results: []InspectResult{}}
	for _, r := range p.Results {
		out.Results = append(out.Results, InspectResult{r.Title, r.URL, r.Snippet, r.PublishedAt})
	}
	return out, nil
}

func (in InspectInput) page() ([]byte, error) {
	if in.Body != "" || in.Path == "" {
		return []byte(in.Body), nil
	}
	f, err := os.Open(in.Path)
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	defer f.Close()
	page, err := transport.ReadPage(f)
	if err != nil {
		return nil, fmt.Errorf("read page %s: %w", in.Path, err)
	}
	return page, nil
}

// read reads an answer as a search would.
func read(provider string, r adapter.Response, query string) (adapter.Page, outcome.Outcome) {
	engine, ok := catalog.New(provider, catalog.Settings{})
	if !ok {
		return generic.Parse(r)
	}
	p, o := engine.Parse(r)
	return judge(engine.Capabilities(), p, o, query, "")
}
