// Package provider puts the model behind one narrow interface.
//
// The run engine sees Streamer, Request, Delta, Response and Error, all of
// them provider-neutral. Underneath, a call takes this way:
//
//	Request -> go-openai -> exchange (HTTP client of ours) -> endpoint
//	Response <- assembler <- chunk <- go-openai <- canonical frames <- exchange
//
// exchange is the codec: it mends the request body where go-openai is lossy,
// watches the clocks, turns every failure into an *Error that says what to
// check, and reads the event stream by the standard. go-openai is handed
// canonical frames only: one JSON object a line, no comments, no blank lines.
// chunk reads one frame whatever dialect it is written in, and chunkReader the
// common ones without it; the assembler turns chunks into deltas and the
// response, and is a pure state machine. Where the bytes alone have more than one
// right reading, a Profile of the endpoint decides: prose then finds thoughts and
// tool calls in the text. What a model wrote as arguments is kept as it is; package
// arguments reads it when the call is decided about.
//
// What goes out is made for the endpoint too, by the same Profile, which is data:
// ids of calls (IDRule), schemas (Dialect), reasoning, switches and members of its
// own. Tools go out under names that every provider takes (nameMap), or, for models
// without tool calls, as text (promptTools).
//
// A Client makes one attempt. Whether a failed call is repeated is the
// caller's decision; Error.Retryable and Error.RetryAfter help with it. The
// one exception: an endpoint that refuses an optional request member by name
// is asked again without it, and the client remembers (concessions); the answer's
// warnings say what was left out.
package provider
