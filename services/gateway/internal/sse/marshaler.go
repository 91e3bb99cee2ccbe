package sse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ContentType of a stream of events.
const ContentType = "text/event-stream"

// Names that a streamed message must have.
const (
	eventOneof = "event"
	seqField   = "seq"
)

// Marshaler writes the messages of a stream as events and reads requests as the
// embedded JSONPb does.
type Marshaler struct {
	*runtime.JSONPb
}

// StreamContentType is asked for before the first message of a stream.
func (Marshaler) StreamContentType(any) string { return ContentType }

// Delimiter is empty: an event ends itself.
func (Marshaler) Delimiter() []byte { return nil }

// Marshal frames a message that the runtime hands over as {"result": message}.
// Everything else is JSON.
func (m Marshaler) Marshal(v any) ([]byte, error) {
	chunk, ok := v.(map[string]any)
	if !ok {
		return m.JSONPb.Marshal(v)
	}
	msg, ok := chunk["result"].(proto.Message)
	if !ok {
		return m.JSONPb.Marshal(v)
	}
	return frameMessage(msg.ProtoReflect(), m.MarshalOptions)
}

func frameMessage(msg protoreflect.Message, opts protojson.MarshalOptions) ([]byte, error) {
	desc := msg.Descriptor()
	oneof := desc.Oneofs().ByName(eventOneof)
	if oneof == nil {
		return nil, fmt.Errorf("stream message %s has no oneof %q to name its events", desc.FullName(), eventOneof)
	}
	set := msg.WhichOneof(oneof)
	if set == nil {
		return nil, nil // an event of a newer service: readers of this gateway's age skip it too
	}
	data, err := opts.Marshal(msg.Get(set).Message().Interface())
	if err != nil {
		return nil, fmt.Errorf("marshal event %s: %w", set.Name(), err)
	}
	var seq int64
	if fd := desc.Fields().ByName(seqField); fd != nil {
		seq = msg.Get(fd).Int()
	}
	return frame(seq, string(set.Name()), data)
}

// frame writes one event. data is JSON; protojson puts random spaces into it on
// purpose, and a raw newline would end the field, so it is compacted.
func frame(seq int64, event string, data []byte) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(data) + len(event) + 40)
	if seq > 0 {
		b.WriteString(idPrefix)
		b.WriteString(strconv.FormatInt(seq, 10))
		b.WriteByte('\n')
	}
	b.WriteString("event: ")
	b.WriteString(event)
	b.WriteString("\ndata: ")
	if err := json.Compact(&b, data); err != nil {
		return nil, fmt.Errorf("compact event %s: %w", event, err)
	}
	b.WriteString("\n\n")
	return b.Bytes(), nil
}

const idPrefix = "id: "

// frameSeq reads the id of a framed event; 0 when it has none.
func frameSeq(event []byte) int64 {
	rest, ok := bytes.CutPrefix(event, []byte(idPrefix))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	seq, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		return 0
	}
	return seq
}
