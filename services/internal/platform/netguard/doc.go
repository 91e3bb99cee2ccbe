// Package netguard stands between addresses that come from a user, a model or a
// page and the network they could reach (server-side request forgery).
//
// The defence is the check of the socket address at dial time, after name
// resolution and for every attempt ([Guard.DialContext]); it holds against
// rebinding, mixed answers and redirects. The checks of the URL before that
// ([Guard.CheckURL], [Guard.CheckRedirect]) give earlier and clearer errors.
//
// There is no switch that turns the guard off and no range that can be opened:
// an operator lists exact ip:port pairs in netguard.allow.
package netguard
