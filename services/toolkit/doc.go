// Package toolkit makes a ToolProvider in ten lines, and gives its callers the
// other end.
//
// A provider offers tools to NanoClaw over the gRPC contract
// nanoclaw.tool.v1.ToolProviderService. With toolkit a tool is a Go function
// with an input struct; see the package example and examples/provider. Toolkit
// does what the contract asks of every provider:
//
//   - the JSON Schema of the arguments, inferred from the struct;
//   - checking arguments: exact parsing, repair of what can be meant in one way
//     only, defaults, clamping, validation, canonical form ([Validator.Check]);
//   - the difference between a failure the model can act on ([Fail]) and a
//     failure of transport or policy ([StatusError]); panics and the text of
//     other errors stay inside;
//   - timeouts, progress, results sent in pieces, limits on size and number;
//   - effect keys: a call of a keyed or queryable tool outlives its stream, a
//     second call with its key attaches to it or gets the stored result
//     ([KeyStore]); a call that arrives after its lease is refused.
//
// What a call costs a caller to get wrong is put together in one place, too:
// [Invoke] calls any provider, trusting it with nothing, and [Canonical] and
// [Hash] are the one form and the one hash of arguments everywhere.
//
// Toolkit depends on the generated contract, gRPC and google/jsonschema-go.
package toolkit
