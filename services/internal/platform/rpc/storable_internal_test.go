package rpc

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	_ "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	_ "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	_ "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// withText makes, for each text that a message can hold, a message that holds
// just that one, and the text's path in JSON.
func withText(md protoreflect.MessageDescriptor, text string, depth int) map[string]protoreflect.Message {
	out := map[string]protoreflect.Message{}
	if depth == 0 {
		return out
	}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		name := fd.TextName()
		value := fd
		if fd.IsMap() {
			value = fd.MapValue()
		}
		if freeJSON(md) {
			name = ""
		}
		set := func(rest string, v func(holder protoreflect.Message) protoreflect.Value) {
			m := dynamicpb.NewMessage(md)
			path := name
			switch {
			case fd.IsList():
				m.Mutable(fd).List().Append(v(m))
				path += "[0]"
			case fd.IsMap():
				m.Mutable(fd).Map().Set(protoreflect.ValueOfString("key").MapKey(), v(m))
				path += ".key"
			default:
				m.Set(fd, v(m))
			}
			if rest != "" && rest[0] != '[' && rest[0] != '.' {
				rest = "." + rest
			}
			out[strings.TrimPrefix(path+rest, ".")] = m
		}
		switch value.Kind() {
		case protoreflect.StringKind:
			set("", func(protoreflect.Message) protoreflect.Value { return protoreflect.ValueOfString(text) })
		case protoreflect.MessageKind:
			for path, inner := range withText(value.Message(), text, depth-1) {
				set(path, func(protoreflect.Message) protoreflect.Value { return protoreflect.ValueOfMessage(inner) })
			}
		}
	}
	return out
}

func TestNoRequestMayHoldATextThatCannotBeStored(t *testing.T) {
	v, err := newRequestValidator()
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			if !strings.HasPrefix(string(service.FullName()), "nanoclaw.") {
				continue
			}
			for j := range service.Methods().Len() {
				input := service.Methods().Get(j).Input()
				for path, m := range withText(input, "a\x00b", 5) {
					texts++
					err := v.check(m.Interface())
					status := rpcerr.From(err)
					if rpcerr.Reason(err) != ReasonInvalidArgument || status.Message() != path+": must not hold the character U+0000" {
						t.Errorf("%s: %s = %v", input.Name(), path, err)
					}
				}
				for path, m := range withText(input, "纳", 5) {
					if err := checkTexts(m); err != nil {
						t.Errorf("%s: %s = %v", input.Name(), path, err)
					}
				}
			}
		}
		return true
	})
	if texts < 40 {
		t.Errorf("only %d texts were tried", texts)
	}
}

func TestWhereATextOfFreeJSONCannotBeStored(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   map[string]any
		want string
	}{
		{"in a value", map[string]any{"q": "\x00"}, "arguments.q"},
		{"in a list", map[string]any{"urls": []any{"a", 1, "b\x00"}}, "arguments.urls[2]"},
		{"in an object in a list in a list", map[string]any{"a": []any{[]any{map[string]any{"b": "\x00"}}}}, "arguments.a[0][0].b"},
		{"as a name", map[string]any{"q\x00": 1}, "arguments"},
		{"as a name further in", map[string]any{"a": []any{map[string]any{"\x00": nil}}}, "arguments.a[0]"},
		{"nowhere", map[string]any{"a": []any{map[string]any{"b": "\u0001\uFFFD"}, nil, true, 1.5}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			arguments, err := structpb.NewStruct(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			var m proto.Message = &orchestratorv1.InvokeToolRequest{Name: "x", Arguments: arguments}
			path, found := unstorable(m.ProtoReflect())
			if strings.TrimPrefix(path, ".") != tc.want || found != (tc.want != "") {
				t.Errorf("%q, %v, want %q", path, found, tc.want)
			}
		})
	}
}
