package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// ReasonInvalidArgument: the request breaks a rule of its proto.
const ReasonInvalidArgument = "INVALID_ARGUMENT"

const (
	// A message that names more fields than this is no longer read.
	maxFieldsInMessage = 3
	// An error carries no more violations than this (package rpcerr); a request
	// may break thousands.
	maxViolations = 8
)

// requestValidator holds requests to the rules of their protos, and to the one
// that all share: their texts are storable.
type requestValidator struct {
	current atomic.Pointer[protovalidate.Validator]
}

func newRequestValidator() (*requestValidator, error) {
	v := &requestValidator{}
	return v, v.warm(nil)
}

// warm compiles the rules of the given messages, which takes too long for a
// first call, and finds rules that do not compile.
func (v *requestValidator) warm(messages []protoreflect.MessageDescriptor) error {
	compiled, err := protovalidate.New(protovalidate.WithMessageDescriptors(messages...))
	if err != nil {
		return fmt.Errorf("compile validation rules: %w", err)
	}
	for _, m := range withNested(messages) {
		// New keeps what does not compile to itself until the message comes.
		err := compiled.Validate(dynamicpb.NewMessage(m))
		var broken *protovalidate.CompilationError
		if errors.As(err, &broken) {
			return fmt.Errorf("compile validation rules of %s: %w", m.FullName(), broken)
		}
	}
	v.current.Store(&compiled)
	return nil
}

// withNested adds the messages of fields, at any depth.
func withNested(messages []protoreflect.MessageDescriptor) []protoreflect.MessageDescriptor {
	seen := make(map[protoreflect.FullName]bool)
	var all []protoreflect.MessageDescriptor
	var add func(protoreflect.MessageDescriptor)
	add = func(m protoreflect.MessageDescriptor) {
		if m == nil || seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		all = append(all, m)
		for i := range m.Fields().Len() {
			add(m.Fields().Get(i).Message())
		}
	}
	for _, m := range messages {
		add(m)
	}
	return all
}

func (v *requestValidator) check(req any) error {
	m, ok := req.(proto.Message)
	if !ok {
		return nil
	}
	if err := checkTexts(m.ProtoReflect()); err != nil {
		return err
	}
	err := (*v.current.Load()).Validate(m)
	if err == nil {
		return nil
	}
	var invalid *protovalidate.ValidationError
	if !errors.As(err, &invalid) {
		return fmt.Errorf("validate %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return invalidArgument(invalid)
}

// invalidArgument gives each broken rule as a field violation whose path is
// that of the request's JSON, and the first few as the message.
func invalidArgument(invalid *protovalidate.ValidationError) error {
	named := invalid.Violations[:min(len(invalid.Violations), maxFieldsInMessage)]
	words := make([]string, 0, maxFieldsInMessage+1)
	for _, violation := range named {
		path, description := describe(violation)
		if path != "" && !strings.HasPrefix(description, path+" ") { // some name it themselves
			description = path + ": " + description
		}
		words = append(words, description)
	}
	if more := len(invalid.Violations) - len(named); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	e := rpcerr.New(codes.InvalidArgument, ReasonInvalidArgument, "%s", strings.Join(words, "; "))
	for _, violation := range invalid.Violations[:min(len(invalid.Violations), maxViolations)] {
		e = e.WithField(describe(violation))
	}
	return e
}

// ruleWords are what rules ask for whose own words are those of a library.
var ruleWords = map[string]string{"repeated.unique": "must not have the same value twice"}

// describe gives the field at fault and the rule it breaks. A rule over several
// fields belongs to the message; by our convention its id is "<field>.<rule>" and
// names the one to change.
func describe(v *protovalidate.Violation) (path, description string) {
	path = protovalidate.FieldPathString(v.Proto.GetField())
	if path == "" {
		path, _, _ = strings.Cut(v.Proto.GetRuleId(), ".")
	}
	description = cmp.Or(patternDescription(v), ruleWords[v.Proto.GetRuleId()], v.Proto.GetMessage())
	if description == "" {
		description = "breaks the rule " + v.Proto.GetRuleId()
	}
	return path, description
}

func (v *requestValidator) link() Interceptor {
	return Interceptor{
		Name: "validate",
		Unary: func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			if err := v.check(req); err != nil {
				return nil, err
			}
			return handler(ctx, req)
		},
		Stream: func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			return handler(srv, &validatedStream{ServerStream: stream, validator: v})
		},
	}
}

// validatedStream checks each message that it receives.
type validatedStream struct {
	grpc.ServerStream
	validator *requestValidator
}

func (s *validatedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return s.validator.check(m)
}
