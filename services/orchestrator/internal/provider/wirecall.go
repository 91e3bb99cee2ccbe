package provider

import (
	"bytes"
	"encoding/json"
	"strings"
)

// wireCall is one element of tool_calls: a whole call or a piece of one. The
// members of function may also stand beside it.
type wireCall struct {
	Index    number
	ID       string
	Function wireFunction
	Extra    map[string]json.RawMessage // members not understood here
}

// wireFunction is the function member of a wireCall.
type wireFunction struct {
	Name      string
	Arguments string // JSON text; an object is re-encoded
	Extra     map[string]json.RawMessage
}

// wireCalls is the list of calls; an object alone is read as a list of one.
type wireCalls []wireCall

func (l *wireCalls) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		var one wireCall
		if json.Unmarshal(raw, &one) == nil {
			*l = wireCalls{one}
		}
		return nil
	}
	var list []wireCall
	if tolerant(raw, &list) {
		*l = list
	}
	return nil
}

func (c *wireCall) UnmarshalJSON(raw []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	_, nested := members["function"]
	for name, value := range members {
		switch {
		case nested:
		case name == "name":
			c.Function.Name = asName(value)
			continue
		case name == "arguments":
			c.Function.Arguments = asArguments(value)
			continue
		}
		switch name {
		case "index":
			_ = c.Index.UnmarshalJSON(value)
		case "id":
			c.ID = asText(value)
		case "type":
		case "function":
			_ = c.Function.UnmarshalJSON(value)
		default:
			keep(&c.Extra, name, value)
		}
	}
	return nil
}

func (f *wireFunction) UnmarshalJSON(raw []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	for name, value := range members {
		switch name {
		case "name":
			f.Name = asName(value)
		case "arguments":
			f.Arguments = asArguments(value)
		default:
			keep(&f.Extra, name, value)
		}
	}
	return nil
}

// asName reads the name of a tool, which has no white space around it.
func asName(raw json.RawMessage) string { return strings.TrimSpace(asText(raw)) }

func asText(raw json.RawMessage) string {
	var t text
	_ = t.UnmarshalJSON(raw)
	return string(t)
}

// asArguments returns the JSON text of arguments: what the string holds, or
// the value itself where a server sends an object (llama.cpp#20198).
func asArguments(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		return asText(raw)
	}
	if !present(raw) && string(raw) != "{}" {
		return ""
	}
	var compact bytes.Buffer
	if json.Compact(&compact, verbatim(raw)) != nil {
		return ""
	}
	return compact.String()
}

// keep stores a copy of an unknown member; null says nothing and is left out.
func keep(into *map[string]json.RawMessage, name string, value json.RawMessage) {
	if string(value) == "null" {
		return
	}
	if *into == nil {
		*into = make(map[string]json.RawMessage)
	}
	(*into)[name] = verbatim(value)
}

// encodeVerbatim marshals members without rewriting what is inside them; nil
// when there are none.
func encodeVerbatim(members map[string]json.RawMessage) json.RawMessage {
	if len(members) == 0 {
		return nil
	}
	out, err := marshalPlain(members)
	if err != nil {
		return nil
	}
	return out
}

// marshalPlain is json.Marshal without HTML escaping, which would change texts
// that must come back as they were.
func marshalPlain(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}
