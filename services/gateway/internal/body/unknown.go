package body

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// unknownField finds the first field of a JSON object that its message does not
// have and answers its path, for example "filter.stauts" or "items[2].nmae".
// raw must be valid JSON.
func unknownField(raw []byte, desc protoreflect.MessageDescriptor) (path string, found bool) {
	w := walk{json.NewDecoder(bytes.NewReader(raw))}
	return w.value("", desc)
}

// walk reads JSON beside the descriptor of the message that it should be. Its
// methods answer the path of an unknown field and true as soon as there is one.
type walk struct{ *json.Decoder }

// value reads one value that should be a message of type desc.
func (w walk) value(path string, desc protoreflect.MessageDescriptor) (string, bool) {
	if desc.ParentFile().Package() == "google.protobuf" {
		w.skip() // Struct and Timestamp have JSON of their own
		return "", false
	}
	if !w.enter('{') {
		return "", false
	}
	for w.More() {
		name := w.key()
		at := name
		if path != "" {
			at = path + "." + name
		}
		fd := field(desc, name)
		if fd == nil {
			return at, true
		}
		if bad, found := w.field(at, fd); found {
			return bad, true
		}
	}
	w.leave()
	return "", false
}

// field reads the value of a field: one message, a list or a map of them.
func (w walk) field(path string, fd protoreflect.FieldDescriptor) (string, bool) {
	switch {
	case fd.IsMap() && fd.MapValue().Message() != nil:
		return w.each('{', fd.MapValue().Message(), func(_ int, key string) string { return path + "." + key })
	case fd.IsMap() || fd.Message() == nil:
		w.skip()
		return "", false
	case fd.IsList():
		return w.each('[', fd.Message(), func(i int, _ string) string { return fmt.Sprintf("%s[%d]", path, i) })
	}
	return w.value(path, fd.Message())
}

// each reads a list or a map of messages.
func (w walk) each(open json.Delim, desc protoreflect.MessageDescriptor, at func(i int, key string) string) (string, bool) {
	if !w.enter(open) {
		return "", false
	}
	for i := 0; w.More(); i++ {
		key := ""
		if open == '{' {
			key = w.key()
		}
		if bad, found := w.value(at(i, key), desc); found {
			return bad, true
		}
	}
	w.leave()
	return "", false
}

// field finds a field by the name protojson would take: the proto's or the
// lowerCamelCase one.
func field(desc protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if fd := desc.Fields().ByTextName(name); fd != nil {
		return fd
	}
	return desc.Fields().ByJSONName(name)
}

// skip reads one value without looking at it.
func (w walk) skip() {
	var v json.RawMessage
	_ = w.Decode(&v)
}

// enter reads the bracket that a value should begin with. A value of another
// kind is read whole and answers false: protojson says better what is wrong.
func (w walk) enter(open json.Delim) bool {
	t, err := w.Token()
	if err != nil || t == open {
		return err == nil
	}
	if d, ok := t.(json.Delim); !ok || (d != '{' && d != '[') {
		return false
	}
	for depth := 1; depth > 0; {
		t, err := w.Token()
		if err != nil {
			return false
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return false
}

// leave reads the closing bracket.
func (w walk) leave() { _, _ = w.Token() }

// key reads the name of a member.
func (w walk) key() string {
	t, _ := w.Token()
	name, _ := t.(string)
	return name
}
