// Package body lets only well-formed JSON bodies through to the generated
// handlers, and says of any other what is wrong with it and where.
//
// [Limits.Read] checks size, type and syntax and keeps the bytes with the
// request. [Decoder] is the half of a marshaler that reads requests: it refuses
// unknown fields by their path. The generated handlers flatten whatever a
// decoder answers into INVALID_ARGUMENT text, so the decoder leaves its error in
// the body as well, where [Failure] finds it.
package body
