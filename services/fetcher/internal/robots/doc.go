// Package robots knows which addresses of a site its robots.txt lets us ask for:
// RFC 9309, read and matched here, and fetched as its section 2.3 says.
//
// Parse and the matching are pure; a Checker fetches, and remembers for at most
// a day. Crawl-delay, which is not in the RFC, is understood as its users mean
// it: seconds between requests, for the group that it stands in.
package robots
