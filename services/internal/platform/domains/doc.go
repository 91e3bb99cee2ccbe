// Package domains answers two questions about the host of a web address: what
// is its one normal form, and does a caller's domain list let it through.
//
// [ParseHost] is the only place where a host is normalised, so the domain
// filter and the network guard can never disagree about what a spelling means.
// [Filter] implements allowed_domains and blocked_domains for search and fetch.
// Everything fails closed: an address that cannot be understood passes no allow
// list and slips past no block list.
package domains
