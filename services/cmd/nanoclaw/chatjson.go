package main

import (
	"bytes"
	"encoding/json"
	"fmt"

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
	if line, err := eventLine(ev); err != nil {
		v.err = err
	} else if v.err == nil {
		_, v.err = v.c.stdout.Write(line)
	}
}

func (*eventsView) aside() {}

func (v *eventsView) ended(*transcript.Transcript) error { return v.err }

// eventLine is one event with its line end; empty for an event of a kind that
// is newer than this program.
func eventLine(ev *orchestratorv1.RunEvent) ([]byte, error) {
	m := ev.ProtoReflect()
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
	}{ev.GetSeq(), string(field.Name()), data})
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return line.Bytes(), nil
}
