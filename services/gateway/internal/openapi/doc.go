// Package openapi makes the document that the gateway serves out of the one that
// is generated from the contracts.
//
// The generator knows the messages but not what the gateway makes of them: the
// envelope, the shape of errors, event streams, tokens. [New] puts these in, and
// the same document fills the page of routes ([Document.Page]).
package openapi
