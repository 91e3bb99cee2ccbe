package rpc

import (
	"strings"
	"testing"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestRuleOfTheWholeMessageNamesTheFieldToChange(t *testing.T) {
	v, err := newRequestValidator()
	if err != nil {
		t.Fatal(err)
	}
	err = v.check(&orchestratorv1.InvokeToolRequest{Name: "x", Arguments: &structpb.Struct{}, ArgumentsJson: "{}"})
	if got, want := rpcerr.From(err).Message(), "arguments_json: cannot be used together with arguments; send one of the two"; got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
	for _, m := range []protoreflect.ProtoMessage{&orchestratorv1.InvokeToolRequest{}, &searchv1.SearchRequest{}} {
		rules := proto.GetExtension(m.ProtoReflect().Descriptor().Options(), validate.E_Message).(*validate.MessageRules)
		for _, rule := range rules.GetCel() {
			name, _, _ := strings.Cut(rule.GetId(), ".")
			if m.ProtoReflect().Descriptor().Fields().ByTextName(name) == nil {
				t.Errorf("rule %s of %s does not begin with a field", rule.GetId(), m.ProtoReflect().Descriptor().FullName())
			}
		}
	}
	if err := v.check("not a message"); err != nil {
		t.Errorf("what is no protobuf message has no rules: %v", err)
	}
}

func TestWarmFindsRulesThatDoNotCompile(t *testing.T) {
	message := func(name, cel string, fields ...*descriptorpb.FieldDescriptorProto) *descriptorpb.DescriptorProto {
		o := &descriptorpb.MessageOptions{}
		if cel != "" {
			proto.SetExtension(o, validate.E_Message, validate.MessageRules_builder{
				Cel: []*validate.Rule{validate.Rule_builder{Id: new("x"), Expression: &cel}.Build()},
			}.Build())
		}
		return &descriptorpb.DescriptorProto{Name: &name, Options: o, Field: fields}
	}
	field := &descriptorpb.FieldDescriptorProto{
		Name: new("inner"), Number: new(int32(1)), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(),
		Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), TypeName: new(".warmtest.Broken"),
	}
	self := &descriptorpb.FieldDescriptorProto{
		Name: new("self"), Number: new(int32(2)), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), TypeName: new(".warmtest.Outer"),
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("warmtest.proto"), Package: new("warmtest"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{message("Good", "true"), message("Broken", "this.nothing > 1"), message("Outer", "", field, self)},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	v, err := newRequestValidator()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, message, want string }{
		{"a good one", "Good", ""},
		{"a broken one", "Broken", "warmtest.Broken"},
		{"one whose field's message is broken", "Outer", "warmtest.Broken"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := v.warm([]protoreflect.MessageDescriptor{file.Messages().ByName(protoreflect.Name(tc.message))})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("warm = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestARuleThatNamesItsFieldIsNotNamedTwice(t *testing.T) {
	v, err := newRequestValidator()
	if err != nil {
		t.Fatal(err)
	}
	err = v.check(&orchestratorv1.SendMessageRequest{ConversationId: "c", Content: " "})
	if got, want := status.Convert(rpcerr.From(err).Err()).Message(), "content must hold some text"; got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
}
