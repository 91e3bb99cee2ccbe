package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/transcript"
)

// documentView prints the message as one JSON document, the same as over REST.
type documentView struct{ c *cli }

func (documentView) seen(*orchestratorv1.RunEvent, *transcript.Transcript) {}

func (documentView) aside() {}

func (v documentView) ended(t *transcript.Transcript) error { return v.c.printJSON(t.Message()) }

// eventsView prints each event as a line of JSON: {"id", "event", "data"}, the
// parts of an event of the REST interface.
type eventsView struct {
	c   *cli
	err error // of the first line that could not be written
}

func (v *eventsView) seen(ev *orchestratorv1.RunEvent, _ *transcript.Transcript) {
	if v.err == nil {
		v.err = v.c.printEvent(ev.GetSeq(), ev)
	}
}

func (*eventsView) aside() {}

func (v *eventsView) ended(*transcript.Transcript) error { return v.err }

// eventLine is one event with its line end; empty for an event of a kind that
// is newer than this program.
func eventLine(seq int32, event proto.Message) ([]byte, error) {
	m := event.ProtoReflect()
	field := m.WhichOneof(m.Descriptor().Oneofs().ByName("event"))
	if field == nil {
		return nil, nil
	}
	data, err := encodeJSON(m.Get(field).Message().Interface())
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(struct {
		ID    int32           `json:"id,omitempty"`
		Event string          `json:"event"`
		Data  json.RawMessage `json:"data"`
	}{seq, string(field.Name()), data})
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return line.Bytes(), nil
}

// printEvent prints one event as a line of JSON.
func (c *cli) printEvent(seq int32, event proto.Message) error {
	line, err := eventLine(seq, event)
	if err != nil {
		return err
	}
	_, err = c.stdout.Write(line)
	return err
}
