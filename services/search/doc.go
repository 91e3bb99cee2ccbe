// Package search is the search service: it asks search engines and says what
// happened.
//
// The way of a query: the service checks it, package selection decides which
// engines are asked, an answer of the last minutes is taken from package
// answercache, package health says whether an engine is asked at the moment,
// equal questions become one in package flight, an adapter plans the request,
// transport sends it, the adapter reads the page, relevance throws out rows of
// other queries, package fusion merges lists when several engines were asked, and
// the domain filter has the last word on every address. Each attempt ends in an
// outcome; only an engine's own word makes an empty answer. When an engine cannot
// answer, the next one is asked, unless somebody chose the engine by name; every
// attempt and every engine passed over is in the response.
//
// The same search is offered over gRPC (SearchService), to models (the tool
// web_search) and, page by page without a network, to people who want to know
// what we make of a page (InspectResults).
package search
