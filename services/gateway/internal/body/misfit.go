package body

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// misfit is the first field of raw, a valid JSON object, whose value is no list or
// no object although it should be one, and what it should be. protojson tells of
// the value alone. The path is empty when there is none.
func misfit(raw []byte, desc protoreflect.MessageDescriptor) (path, want string) {
	members := json.NewDecoder(bytes.NewReader(raw))
	if t, err := members.Token(); err != nil || t != json.Delim('{') {
		return "", ""
	}
	for members.More() {
		t, err := members.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || members.Decode(&value) != nil {
			return "", ""
		}
		fd := field(desc, name)
		if fd == nil {
			continue
		}
		if path, want := misfitField(value, fd); path != "" {
			return path, want
		}
	}
	return "", ""
}

func misfitField(value json.RawMessage, fd protoreflect.FieldDescriptor) (path, want string) {
	switch {
	case string(value) == "null":
		return "", ""
	case fd.IsList():
		return misfitList(value, fd)
	case fd.IsMap():
		if value[0] != '{' {
			return fd.TextName(), "object"
		}
		return "", ""
	case !ours(fd.Message()):
		return "", ""
	case value[0] != '{':
		return fd.TextName(), "object"
	}
	if path, want = misfit(value, fd.Message()); path != "" {
		return fd.TextName() + "." + path, want
	}
	return "", ""
}

func misfitList(value json.RawMessage, fd protoreflect.FieldDescriptor) (path, want string) {
	var elements []json.RawMessage
	if json.Unmarshal(value, &elements) != nil {
		return fd.TextName(), "list"
	}
	if !ours(fd.Message()) {
		return "", ""
	}
	for i, e := range elements {
		at := fmt.Sprintf("%s[%d]", fd.TextName(), i)
		if e[0] != '{' {
			return at, "object"
		}
		if path, want = misfit(e, fd.Message()); path != "" {
			return at + "." + path, want
		}
	}
	return "", ""
}

// ours are messages that are objects in JSON; Timestamp, Struct and the like have
// JSON of their own.
func ours(desc protoreflect.MessageDescriptor) bool {
	return desc != nil && desc.ParentFile().Package() != "google.protobuf"
}
