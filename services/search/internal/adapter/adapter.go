// Package adapter is what an engine has to be for the search service: two pure
// functions, and a few facts about itself.
//
// Plan turns a query into an HTTP request, Parse turns the answer into results
// and an outcome. Neither touches the network, a clock or shared state; the
// transport between them is the same for all engines. That is what lets
// requests be compared byte by byte, captured pages be replayed, and parsers
// be fuzzed.
//
// To add an engine: one folder beside this one with a type that has these
// methods; a line in the service's list of engines; golden requests and pages
// in its testdata. Nothing else knows its name.
package adapter

import (
	"net/http"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// Adapter is one engine behind one endpoint.
type Adapter interface {
	// Name is the provider's name in requests, attempts and configuration.
	Name() string
	// Plan makes the request for q. It drops options that the engine lacks
	// and names them; it fails only when no request can be made at all.
	Plan(q Query) (Plan, error)
	// Parse reads an answer. When the outcome carries no results the page
	// has none either. It must never say EmptyVerified without a marker of
	// the engine's own that nothing was found.
	Parse(r Response) (Page, outcome.Outcome)
}

// OptionCount is the one option that an engine may not know: how many rows to
// send. Such an engine sends as many as it likes.
const OptionCount = "count"

// Query is what is asked of an engine, already checked by the service.
type Query struct {
	// Text is the query as the caller wrote it, trimmed.
	Text string
	// Count is how many rows are wanted, before filtering; 0 leaves it to
	// the engine.
	Count int
	// AllowedDomains and BlockedDomains are hints for the engine, in the form
	// of its site operator (example.com or example.com/docs): the service
	// filters the results itself in any case. At most one of them is set.
	AllowedDomains, BlockedDomains []string
}

// Plan is a request ready to be sent, and what it could not express.
type Plan struct {
	Request Request
	// Dropped names the options that the engine does not know.
	Dropped []string
}

// Request is an HTTP request as data.
type Request struct {
	Method string
	URL    string
	// Header holds all headers to be sent, but for Host and Content-Length.
	Header http.Header
	// Body is sent as it is; nil for none.
	Body []byte
}

// Response is an HTTP answer as data.
type Response struct {
	Status int
	Header http.Header
	// Body is decoded: no content coding, UTF-8.
	Body []byte
	// Truncated says that the body was longer than the transport takes.
	Truncated bool
	// ReceivedAt turns ages ("3 days ago") into dates; when zero they are
	// left out.
	ReceivedAt time.Time
}

// Result is one organic row.
type Result struct {
	Title string
	// URL is the final address, unwrapped from the engine's redirects.
	URL     string
	Snippet string
	// PublishedAt is RFC 3339, or empty when the page tells no date.
	PublishedAt string
}

// Page is what was read from an answer.
type Page struct {
	Results []Result
	// AlteredQuery is the query that the results are for, when the engine
	// says that it is not the one asked.
	AlteredQuery string
}
