package toolkit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/protobuf/types/known/structpb"
)

// inferSchema makes the schema of a tool's input struct, in the plain form that
// model APIs take: one type each, no null, no unknown properties.
func inferSchema(in reflect.Type, edit func(*jsonschema.Schema)) (*jsonschema.Schema, error) {
	if in.Kind() != reflect.Struct {
		return nil, fmt.Errorf("input type %s is not a struct", in)
	}
	s, err := jsonschema.ForType(in, nil)
	if err != nil {
		return nil, fmt.Errorf("inferring the schema of %s: %w", in, err)
	}
	withoutNull(s)
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{} // some model APIs want the key
	}
	if edit != nil {
		edit(s)
	}
	// What has a default need not be given.
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool {
		return s.Properties[name] != nil && s.Properties[name].Default != nil
	})
	return s, nil
}

// withoutNull undoes the library's ["null", "array"] for slices and pointers,
// which some model APIs refuse. A null for an optional property is dropped by
// [Validator.Check] anyway.
func withoutNull(s *jsonschema.Schema) {
	if rest := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(rest) == 1 {
		s.Type, s.Types = rest[0], nil
	}
	for _, child := range subschemas(s) {
		withoutNull(child)
	}
}

// schemaStruct gives a schema as it travels in toolv1.Tool.
func schemaStruct(s *jsonschema.Schema) (*structpb.Struct, []byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, nil, fmt.Errorf("schema cannot be written as JSON: %w", err)
	}
	out := new(structpb.Struct)
	if err := out.UnmarshalJSON(text); err != nil {
		return nil, nil, fmt.Errorf("schema is not a JSON object: %w", err)
	}
	return out, text, nil
}
