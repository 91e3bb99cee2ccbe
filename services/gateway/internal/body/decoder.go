package body

import (
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
	b, checked := d.In.(*Body)
	if strict := !checked || !b.Lenient; strict && json.Valid(raw) {
		if path, found := unknownField(raw, desc); found {
			return rpcerr.New(codes.InvalidArgument, ReasonUnknownField, "unknown field %q", path).
				WithField(path, "is not a field of this request")
		}
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, msg); err != nil {
		return shaped(err, raw, desc)
	}
	if checked {
		return contradiction(msg.ProtoReflect(), b.Path)
	}
	return nil
}

// contradiction is an error for a field that the path of the address has too,
// with another value: which of the two is meant nobody can know.
func contradiction(msg protoreflect.Message, path map[string]string) error {
	for name, value := range path {
		fd := msg.Descriptor().Fields().ByTextName(name)
		if fd == nil || !msg.Has(fd) || msg.Get(fd).String() == value {
			continue
		}
		return rpcerr.InvalidArgument(name, fmt.Sprintf("is %q in the body and %q in the address; leave it out of the body", msg.Get(fd).String(), value))
	}
	return nil
}

// protojson says where and which field only in words, and separates them with
// a space or a no-break space by chance.
var (
	protojsonPrefix = regexp.MustCompile(`^proto:[\s\x{00a0}]+(?:syntax error[\s\x{00a0}]+)?(?:\(line (\d+):(\d+)\): )?`)
	fieldTwice      = regexp.MustCompile(`^duplicate field "?([^"\s]+)"?`)
	valueOfField    = regexp.MustCompile(`^invalid value for (\S+) (?:type|field (\S+)):`)
)

// shaped turns an error of protojson over raw into one that names the place and,
// where it is known, the field.
func shaped(err error, raw []byte, desc protoreflect.MessageDescriptor) error {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	where := ""
	if m := protojsonPrefix.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if m[1] != "" {
			where = fmt.Sprintf(" at line %s, column %s", m[1], m[2])
		}
	}
	if m := fieldTwice.FindStringSubmatch(text); m != nil {
		return rpcerr.New(codes.InvalidArgument, ReasonInvalidArgument, "%s%s: is given twice", m[1], where).WithField(m[1], "is given twice")
	}
	m := valueOfField.FindStringSubmatch(text)
	if m == nil || m[2] == "" {
		if path, want := misfit(raw, desc); path != "" {
			return rpcerr.New(codes.InvalidArgument, ReasonInvalidArgument, "%s%s: must be a JSON %s", path, where, want).
				WithField(path, "must be a JSON "+want)
		}
		return rpcerr.New(codes.InvalidArgument, ReasonInvalidArgument, "the request body does not fit%s: %s", where, text)
	}
	name, kind := m[2], m[1]
	if fd := desc.Fields().ByJSONName(name); fd != nil {
		name = fd.TextName()
	}
	return rpcerr.New(codes.InvalidArgument, ReasonInvalidArgument, "%s%s: must be a value of type %s", name, where, kind).
		WithField(name, "must be a value of type "+kind)
}
