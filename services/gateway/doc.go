// Package gateway is the edge of NanoClaw for HTTP: REST and event streams
// generated from the contracts, the guard before them, and the web app.
//
// A request passes, from the outside in: removal of headers that only our own
// processes may send; a span, which always begins a new trace and links to the
// caller's; request id, recovery and access log; the guard (Host, origin,
// token); then one of the health routes, the document and page of routes, the
// app's files, or the API. On the API the body is read and checked before the
// generated handlers see it, POST .../messages is sent to StreamMessage unless
// its body says "stream": false, and what the services answer is put into the
// envelope or framed as events.
//
// Whole files are neither JSON nor events: a form with files is sent on to the
// workspace part by part while it comes, and a file is answered as bytes that a
// browser runs nothing of.
//
// gRPC codes become HTTP statuses as the gRPC documentation suggests, with one
// difference: FAILED_PRECONDITION is 409, like ABORTED and ALREADY_EXISTS, and
// the reason tells them apart (RUN_IN_PROGRESS, KEY_REUSED, APPROVAL_REQUIRED).
// Facts of an error, such as run_id, stand in the envelope beside the message.
//
// A stream that breaks is not a run that failed: when the service behind a
// stream goes away the reader gets bye and resumes; the event error of the
// gateway itself is only sent when watching again cannot help.
package gateway
