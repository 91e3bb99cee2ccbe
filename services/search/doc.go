// Package search is the search service: it asks search engines and says what
// happened.
//
// The way of a query: the service checks it, selection decides which engines
// are asked, an adapter plans the request, transport sends it, the adapter reads
// the page, relevance throws out rows of other queries, the domain filter has
// the last word on every address. Each attempt ends in an outcome; only an
// engine's own word makes an empty answer. When an engine cannot answer, the
// next one is asked, unless somebody chose the engine by name; every attempt is
// in the response.
//
// The same search is offered over gRPC (SearchService), to models (the tool
// web_search) and, page by page without a network, to people who want to know
// what we make of a page (InspectResults).
package search
