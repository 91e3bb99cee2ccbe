// Package sse frames server streams of the services as text/event-stream.
//
// grpc-gateway has no marshaler of that kind. [Marshaler] is one: registered for
// the type text/event-stream it turns each message of a stream into one event,
// by reflection: `id:` is the field seq when it is not 0, `event:` the name of
// the field that is set in the oneof event, `data:` that field's message as
// protojson. So the proto's field names are the names on the wire and a new
// event is a new field.
//
// The runtime writes a message and its delimiter with two Write calls and then
// flushes, so anything that another goroutine writes could land inside an event.
// [Stream] is a ResponseWriter that holds writes back until Flush and sends each
// event, ping and bye whole under one lock.
package sse
