// Package demo shows NanoClaw at work on a machine that has neither a network
// nor a key: a small web site, the results page of a search engine and a scripted
// model on loopback, and the real suite between them. The words of the model are
// scripted, and the answer is put together from what the tools really found; the
// search, the fetching, the crawl and the program in its sandbox are those that
// any other question gets.
package demo
