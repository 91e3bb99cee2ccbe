package rpc

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/storable"
)

// checkTexts refuses a request with a text that cannot be kept as it is. It is one
// rule for every field of every request, ids in paths included, so no proto
// repeats it.
func checkTexts(m protoreflect.Message) error {
	path, found := unstorable(m)
	if !found {
		return nil
	}
	return rpcerr.InvalidArgument(strings.TrimPrefix(path, "."), "must not hold the character U+0000")
}

// unstorable finds a text of a message that is not storable, at any depth, and
// answers its path in the request's JSON, each name after a dot. A name of a map
// that is not is told by the path of the map.
func unstorable(m protoreflect.Message) (path string, found bool) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if path, found = unstorableIn(fd, v); found && !freeJSON(m.Descriptor()) {
			path = "." + fd.TextName() + path
		}
		return !found
	})
	return path, found
}

// freeJSON says that a message is any JSON, in which its own fields have no names.
func freeJSON(m protoreflect.MessageDescriptor) bool {
	switch m.FullName() {
	case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue":
		return true
	}
	return false
}

func unstorableIn(fd protoreflect.FieldDescriptor, v protoreflect.Value) (path string, found bool) {
	switch {
	case fd.IsMap():
		v.Map().Range(func(k protoreflect.MapKey, item protoreflect.Value) bool {
			if !storable.Is(k.String()) {
				found = true
			} else if path, found = unstorableValue(fd.MapValue(), item); found {
				path = "." + k.String() + path
			}
			return !found
		})
	case fd.IsList():
		for i := range v.List().Len() {
			if path, found = unstorableValue(fd, v.List().Get(i)); found {
				return "[" + strconv.Itoa(i) + "]" + path, true
			}
		}
	default:
		return unstorableValue(fd, v)
	}
	return path, found
}

func unstorableValue(fd protoreflect.FieldDescriptor, v protoreflect.Value) (path string, found bool) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return "", !storable.Is(v.String())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return unstorable(v.Message())
	}
	return "", false
}
