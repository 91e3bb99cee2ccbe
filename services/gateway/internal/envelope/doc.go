// Package envelope is the one shape of every JSON answer of the gateway.
//
// Success is {"code":0,"data":{...}}. A failure keeps its HTTP status and is
//
//	{"code":409,"message":"...","reason":"RUN_IN_PROGRESS","trace_id":"...",
//	 "details":[{"field":"...","description":"..."}],"run_id":"..."}
//
// where the keys after details are the facts that the service put into the
// error's metadata. A [Problem] is a failure before it is written; [FromError]
// makes one of whatever a service answered.
package envelope
