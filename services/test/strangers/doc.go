// Package strangers tests NanoClaw with programs that are not its own: a client
// that knows the contracts alone, and grpcurl. Each is a module of its own beside
// this package, outside go.work, and is built by the tests.
package strangers
