// Package auth says who a call is made for.
//
// A [Principal] is put into the context by the auth interceptor of package rpc
// and read by handlers; stores take it as an argument. Between services of one
// process it travels as plain gRPC metadata ([ToMetadata], [FromMetadata]),
// which is believed on the in-process listener and nowhere else. Between
// processes it is signed ([Signer], [Verifier]) with the deployment's key
// ([LoadKey]), for one service and one minute.
//
// A service that works for a user passes the user's principal on unchanged. For
// work of its own it calls as itself:
//
//	ctx = auth.NewContext(ctx, auth.ServicePrincipal("gateway"))
package auth
