// Package adapter is what an engine has to be for the search service: two pure
// functions, and a few facts about itself.
//
// Plan turns a query into an HTTP request, Parse turns the answer into results
// and an outcome. Neither touches the network, a clock or shared state; the
// transport between them is the same for all engines. That is what lets
// requests be compared byte by byte, captured pages be replayed, and parsers
// be fuzzed.
//
// To add an engine:
//
//  1. Make one folder beside this one, with a type that has the methods of
//     Adapter. Pages are read through package page, JSON through package
//     jsonapi: both ask for challenges and failures before they let the adapter
//     look for results.
//  2. State in Capabilities what the engine can do. Plan uses the same statement
//     (Capabilities.Fit, Shorten) to name what it drops, so that the two cannot
//     disagree.
//  3. List it: a line in package catalog, which knows how it is made; its
//     section of the configuration (Config and engines in package search, and
//     deploy/config.example.yml), without which it cannot be asked; and its place
//     among the others in builtInPolicy there, without which only those who name
//     it get it. A test names an engine without settings.
//  4. Record requests and answers in its testdata with package adaptertest:
//     Options for every option on its own, with the list of the parameters that
//     the engine knows, since one that is misspelt is ignored by engines without
//     a word; Answers (APIs) or Reads (pages) for results, an empty list, and
//     what is changed, cut and refused; Shapes for an API's answer in other
//     forms; Fuzz for anything. Run them with -update once and read what was
//     written. Package mutate has to be told the folder.
//
// What stands in an API's answer is read with the types of package jsonapi: a
// field of plain Go would make the whole answer unreadable on the day on which it
// is null or has another type.
//
// Parse must never say EmptyVerified without a marker of the engine's own that
// nothing was found. An empty list of an API is such a marker; a missing one is
// not.
package adapter

import (
	"errors"
	"net/http"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// Adapter is one engine behind one endpoint.
type Adapter interface {
	// Name is the provider's name in requests, attempts and configuration.
	Name() string
	// Capabilities states what the engine can do. It never changes.
	Capabilities() Capabilities
	// Plan makes the request for q. It drops options that the engine lacks
	// and names them; it fails only when no request can be made at all, with
	// ErrNotConfigured when a key or an address is missing.
	Plan(q Query) (Plan, error)
	// Parse reads an answer. When the outcome carries no results the page
	// has none either, yet it may tell limits and cost.
	Parse(r Response) (Page, outcome.Outcome)
}

// Continuer is an adapter whose engine may pause before it has searched, and
// asks to be called again with what it has said so far.
type Continuer interface {
	// Continue gives the request that goes on from the answer r to the request
	// asked, and false when r is no pause.
	Continue(asked Request, r Response) (Request, bool)
}

// ErrNotConfigured says that an engine lacks a key or an address. Errors of
// Plan wrap it and name the setting.
var ErrNotConfigured = errors.New("the search engine is not set up")

// Plan is a request ready to be sent, and what it could not express.
type Plan struct {
	Request Request
	// Dropped names the options that the request does not express.
	Dropped Dropped
	// SentText is the text that is searched when the engine takes no query as
	// long as the one asked; empty when the query was sent whole.
	SentText string
}

// Request is an HTTP request as data.
type Request struct {
	Method string
	URL    string
	// Header holds all headers to be sent, but for Host and Content-Length.
	Header http.Header
	// Body is sent as it is; nil for none.
	Body []byte
	// Keyed says that the request carries a key of the operator. It is then
	// sent to the planned address and to no other: a redirect is the answer.
	Keyed bool
}

// Response is an HTTP answer as data.
type Response struct {
	// Query is the text that was asked, in case the page names another one
	// beside it; empty when nobody knows.
	Query  string
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
