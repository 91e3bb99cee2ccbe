package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Reasons of a body that is JSON but not the JSON that was asked for.
const (
	ReasonUnknownField    = "UNKNOWN_FIELD"
	ReasonInvalidArgument = "INVALID_ARGUMENT"
)

// Decoder reads one request message.
type Decoder struct {
	// In is the body of the request, a *[Body].
	In io.Reader
}

var _ runtime.Decoder = Decoder{}

// Decode reads the body into v, a proto.Message. Its error is an *rpcerr.Error,
// or io.EOF when there is no body.
func (d Decoder) Decode(v any) error {
	err := d.decode(v)
	if b, ok := d.In.(*Body); ok && err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return err
}

func (d Decoder) decode(v any) error {
	msg, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("decode request: %T is not a proto message", v)
	}
	raw, err := io.ReadAll(d.In)
	if err != nil {
		return fmt.Errorf("read request body: %w", err)
	}
	if len(raw) == 0 {
		return io.EOF
	}
	desc := msg.ProtoReflect().Descriptor()
	if b, ok := d.In.(*Body); !ok || !b.Lenient {
		if path := unknownField(raw, desc); path != "" {
			return rpcerr.New(codes.InvalidArgument, ReasonUnknownField, "unknown field %q", path).
				WithField(path, "is not a field of this request")
		}
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, msg); err != nil {
		return shaped(err, desc)
	}
	return nil
}

// protojson says where and which field only in words, and separates them with
// a space or a no-break space by chance.
var (
	protojsonPrefix = regexp.MustCompile(`^proto:[\s\x{00a0}]+(?:syntax error[\s\x{00a0}]+)?(?:\(line (\d+):(\d+)\): )?`)
	valueOfField    = regexp.MustCompile(`^invalid value for (\S+) (?:type|field (\S+)):`)
)

// shaped turns an error of protojson into one that names the place and, where
// it is known, the field.
func shaped(err error, desc protoreflect.MessageDescriptor) error {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	where := ""
	if m := protojsonPrefix.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if m[1] != "" {
			where = fmt.Sprintf(" at line %s, column %s", m[1], m[2])
		}
	}
	m := valueOfField.FindStringSubmatch(text)
	if m == nil || m[2] == "" {
		return rpcerr.New(codes.InvalidArgument, ReasonInvalidArgument, "the request body does not fit%s: %s", where, text)
	}
	name, kind := m[2], m[1]
	if fd := desc.Fields().ByJSONName(name); fd != nil {
		name = fd.TextName()
	}
	return rpcerr.New(codes.InvalidArgument, ReasonInvalidArgument, "%s%s: must be a value of type %s", name, where, kind).
		WithField(name, "must be a value of type "+kind)
}

// unknownField finds the first field of a JSON object that its message does not
// have and answers its path, for example "filter.stauts" or "items[2].nmae";
// empty when all are known. raw must be valid JSON.
func unknownField(raw []byte, desc protoreflect.MessageDescriptor) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	return walk{dec}.value("", desc)
}

type walk struct{ *json.Decoder }

// value reads one JSON value that should be a message of type desc; nil stands
// for anything else, whose inside is not looked at.
func (w walk) value(path string, desc protoreflect.MessageDescriptor) string {
	if desc == nil || strings.HasPrefix(string(desc.FullName()), "google.protobuf.") {
		w.skip() // Struct and Timestamp have JSON of their own
		return ""
	}
	t, err := w.Token()
	if err != nil {
		return ""
	}
	if t != json.Delim('{') {
		w.rest(t) // a wrong type: protojson says so better
		return ""
	}
	for w.More() {
		t, err := w.Token()
		if err != nil {
			return ""
		}
		name, _ := t.(string)
		at := name
		if path != "" {
			at = path + "." + name
		}
		fd := field(desc, name)
		if fd == nil {
			return at
		}
		if bad := w.field(at, fd); bad != "" {
			return bad
		}
	}
	_, _ = w.Token() // the closing brace
	return ""
}

// field reads the value of a field: one message, a list or a map of them.
func (w walk) field(path string, fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.IsMap() && fd.MapValue().Message() != nil:
		return w.each('{', fd.MapValue().Message(), func(_ int, key string) string { return path + "." + key })
	case fd.IsMap() || fd.Message() == nil:
		w.skip()
		return ""
	case fd.IsList():
		return w.each('[', fd.Message(), func(i int, _ string) string { return fmt.Sprintf("%s[%d]", path, i) })
	}
	return w.value(path, fd.Message())
}

// each reads a list or a map of messages.
func (w walk) each(open json.Delim, desc protoreflect.MessageDescriptor, at func(i int, key string) string) string {
	t, err := w.Token()
	if err != nil {
		return ""
	}
	if t != open {
		w.rest(t)
		return ""
	}
	for i := 0; w.More(); i++ {
		key := ""
		if open == '{' {
			t, err := w.Token()
			if err != nil {
				return ""
			}
			key, _ = t.(string)
		}
		if bad := w.value(at(i, key), desc); bad != "" {
			return bad
		}
	}
	_, _ = w.Token()
	return ""
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

// rest reads what is left of a value whose first token was t.
func (w walk) rest(t json.Token) {
	if d, ok := t.(json.Delim); !ok || (d != '{' && d != '[') {
		return
	}
	for depth := 1; depth > 0; {
		t, err := w.Token()
		if err != nil {
			return
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}
