// Package rpc is how NanoClaw's processes serve and call gRPC.
//
// A [Server] answers on TCP and on an in-process listener at once, with the
// same handlers behind the same chain of interceptors. The chain is data
// ([Server.Chain]) and its order is fixed:
//
//	recovery   a panic becomes INTERNAL, is logged with its stack and counted
//	errors     whatever comes out becomes a status, once (package rpcerr)
//	requestid  x-request-id is taken over or made; x-trace-id is answered
//	logging    one line a call
//	metrics    calls in flight, failures by reason
//	explain    errors of what a service stands on get words for its callers
//	deadline   a unary call without a deadline gets one
//	auth       who calls (package auth), and may they
//	ratelimit  calls a second of one principal
//	memory     nothing new is begun when memory runs out
//	validate   protovalidate rules of the request
//
// Tracing and the duration of calls come from otelgrpc's stats handler, which
// works around the whole chain.
//
// Identity. On the in-process listener the principal arrives as plain metadata,
// written by the client interceptor of [Server.DialInProcess] from the caller's
// context. On TCP such metadata means nothing. There another process of the
// deployment shows an identity that it signed for this service
// ([DialConfig].Signer, [ServerConfig].Verifier), and everybody else an API
// token, which is exchanged for a principal. What a method asks of its caller is
// the option nanoclaw.options.v1.access in its proto.
//
// Between processes calls go round all healthy addresses of a name ([Dial]), in
// TLS when it is configured ([TLSConfig]). Connections on TCP are renewed every
// few minutes, so that new replicas are found.
package rpc
