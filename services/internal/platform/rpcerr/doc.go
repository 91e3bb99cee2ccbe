// Package rpcerr is the one shape of error that leaves a service.
//
// Inside a service errors are ordinary Go errors wrapped with %w. Where the
// caller can act on the failure, the code that knows it makes an *Error: a gRPC
// code, a stable UPPER_SNAKE reason, words for a person, and, where they apply,
// the field that was wrong or the time after which to try again. At the edge
// [From] turns whatever comes out into a status exactly once:
//
//	return nil, rpcerr.New(codes.NotFound, "RUN_NOT_FOUND", "run %s does not exist", id)
//	return nil, rpcerr.InvalidArgument("max_results", "must be between 1 and 10")
//	return nil, rpcerr.New(codes.ResourceExhausted, "RATE_LIMITED", "10 searches a minute are allowed").
//		WithRetry(wait)
//
// Text of an error that nobody shaped never reaches a caller: it becomes
// INTERNAL with a fixed message. The same holds for causes added by
// [Error.WithCause]; they are for logs.
package rpcerr
