// Package guard stands before every route of the gateway.
//
// A server on loopback is reachable by every page that the user's browser shows.
// So a request is let through only if
//
//   - its Host is one of ours, against DNS rebinding (421 otherwise);
//   - it is not a cross-origin request that could change something, by
//     net/http's CrossOriginProtection (403); no answer ever carries
//     Access-Control-Allow-Origin, so other origins cannot read either;
//   - it brings a token that stands for somebody, as Authorization: Bearer or in
//     the cookie (401), except on the routes that are open.
//
// A browser gets its cookie from a link with ?token=: the guard checks the
// token, sets the cookie (HttpOnly, SameSite=Strict) and redirects to the
// address without it.
//
// [Strip] takes from a request the headers by which our own processes talk to
// each other.
package guard
