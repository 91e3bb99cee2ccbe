package modelcheck

import (
	"encoding/json"
	"fmt"
	"strings"
)

// object is a JSON object whose members have an order: it is told to the model
// and compared with what comes back. Values are string, int64, json.Number, bool,
// object and []any of these.
type object []member

type member struct {
	name  string
	value any
}

// json is the object as JSON.
func (o object) json() []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic("modelcheck: " + err.Error()) // values of the types above always encode
	}
	return text
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var out strings.Builder
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return []byte(out.String()), nil
}

// outline tells the values of an object by their places, one a line. It is no
// JSON on purpose: writing JSON is what is tested.
func outline(o object) string {
	var out strings.Builder
	out.WriteString("(a text stands between <v> and </v>; take it character for character, without these marks)\n")
	outlineValue(&out, "", o)
	return out.String()
}

func outlineValue(out *strings.Builder, at string, value any) {
	switch v := value.(type) {
	case object:
		if at != "" {
			at += "."
		}
		for _, m := range v {
			outlineValue(out, at+m.name, m.value)
		}
	case []any:
		for i, item := range v {
			outlineValue(out, fmt.Sprintf("%s[%d]", at, i), item)
		}
	case string:
		fmt.Fprintf(out, "%s = <v>%s</v>\n", at, v)
	default:
		fmt.Fprintf(out, "%s = %v\n", at, v)
	}
}
