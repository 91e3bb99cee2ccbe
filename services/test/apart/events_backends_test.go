//go:build backends

package apart

import (
	"encoding/json"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// eventOf is an event as it is over SSE, so that one reader takes both.
func eventOf(e *pb.RunEvent) world.Event {
	m := e.ProtoReflect()
	field := m.WhichOneof(m.Descriptor().Oneofs().ByName("event"))
	if field == nil {
		return world.Event{}
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m.Get(field).Message().Interface())
	if err != nil {
		return world.Event{}
	}
	out := world.Event{Name: string(field.Name())}
	if e.Seq > 0 {
		out.ID = strconv.Itoa(int(e.Seq))
	}
	_ = json.Unmarshal(text, &out.Data) // it was just written
	return out
}
