// Package fetcher gets web pages and documents from public addresses and reads
// them: it serves FetcherService and the tool fetch_page, which are two views of
// the same call. Documents that somebody has are read by Extract and ReadFile.
//
// A page that answers with an error status is an answer; a page that cannot be
// had, or that is nothing that can be read, is an error with a reason.
// Nothing is cut silently: an answer that holds a part says so, and says where
// to read on.
//
// The insides, each a package of its own: httpfetch gets a body, robots knows
// what a site lets us ask for, contenttype and charset say what a body is,
// extract reads HTML and document everything else, and markdown writes HTML down.
// The platform's cleanse makes texts harmless for a model.
package fetcher
