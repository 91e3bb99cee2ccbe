package toolkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/protobuf/types/known/structpb"
)

// MaxSchemaBytes is the largest JSON Schema of arguments that is accepted.
const MaxSchemaBytes = 256 << 10

// Validator checks the arguments of one tool against its JSON Schema (draft
// 2020-12 or draft-07). Build it once a tool: it is immutable and safe for
// concurrent use.
//
// Schemas come from strangers too. A schema is refused when it is over
// [MaxSchemaBytes], nested deeper than [MaxArgumentDepth], not of an object,
// refers to anything but its own parts by JSON pointer, or refers to itself
// without going deeper into the value. A check that would take too many steps,
// which a few lines of nested anyOf can bring about, fails instead of running.
type Validator struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	refs     map[*jsonschema.Schema]*jsonschema.Schema
	defaults map[*jsonschema.Schema]any // parsed; only those that keep to their own schema
	patterns map[*jsonschema.Schema]*regexp.Regexp
	draft7   bool
}

// NewValidator compiles a JSON Schema. The error says what is wrong with it.
func NewValidator(schemaJSON []byte) (*Validator, error) {
	if len(schemaJSON) > MaxSchemaBytes {
		return nil, fmt.Errorf("schema of %d bytes is over the limit of %d", len(schemaJSON), MaxSchemaBytes)
	}
	if _, err := parseJSON(schemaJSON); err != nil {
		return nil, fmt.Errorf("schema is not good JSON: %w", err)
	}
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(schemaJSON, root); err != nil {
		return nil, fmt.Errorf("schema is not a JSON Schema: %w", err)
	}
	return compile(root)
}

// NewValidatorStruct compiles the schema of a tool as it travels in
// toolv1.Tool.Parameters. A nil schema takes any object.
func NewValidatorStruct(schema *structpb.Struct) (*Validator, error) {
	if schema == nil {
		return NewValidator([]byte(`{"type":"object"}`))
	}
	text, err := json.Marshal(schema.AsMap())
	if err != nil {
		return nil, fmt.Errorf("schema cannot be written as JSON: %w", err)
	}
	return NewValidator(text)
}

// compile takes ownership of root.
func compile(root *jsonschema.Schema) (*Validator, error) {
	v := &Validator{
		root:     root,
		refs:     map[*jsonschema.Schema]*jsonschema.Schema{},
		defaults: map[*jsonschema.Schema]any{},
		patterns: map[*jsonschema.Schema]*regexp.Regexp{},
	}
	switch root.Schema {
	case "", "https://json-schema.org/draft/2020-12/schema":
	case "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#":
		v.draft7 = true
	case "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema":
		root.Schema += "#"
		v.draft7 = true
	default:
		return nil, fmt.Errorf("schema is of %q; draft 2020-12 and draft-07 are understood", clip(root.Schema))
	}
	root.ID = "" // a name for others; with it "#/$defs/x" would mean another document
	if root.Type == "" && root.Types == nil && root.Ref == "" {
		root.Type = "object"
	}
	if root.Ref == "" && !wants(root, "object") {
		return nil, errors.New("schema is not of an object; arguments are always an object")
	}
	if err := v.link(); err != nil {
		return nil, err
	}
	if at, cyclic := v.findInPlaceCycle(); cyclic {
		return nil, fmt.Errorf("schema refers to itself at %s without going deeper into the value", at)
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("schema cannot be used: %w", err)
	}
	v.resolved = resolved
	v.collectDefaults(v.newExplainer(), root)
	return v, nil
}

// collectDefaults keeps the defaults that can be filled in. One that breaks its
// own schema, like the null that some generators write, is passed over.
func (v *Validator) collectDefaults(e *explainer, s *jsonschema.Schema) {
	if s.Default != nil {
		if value, err := parseJSON(s.Default); err == nil && e.explain(s, value, "") == nil {
			v.defaults[s] = value
		}
	}
	for _, child := range subschemas(s) {
		v.collectDefaults(e, child)
	}
}

// link finds the target of every $ref and compiles the patterns. Only JSON pointers into the same schema
// are followed: nothing is ever loaded from elsewhere.
func (v *Validator) link() error {
	byPointer := map[string]*jsonschema.Schema{}
	var refs []*jsonschema.Schema
	var index func(s *jsonschema.Schema, at string) error
	index = func(s *jsonschema.Schema, at string) error {
		byPointer[at] = s
		switch {
		case s.ID != "":
			return fmt.Errorf("schema has an $id at %s; only local references are followed", at)
		case s.DynamicRef != "":
			return fmt.Errorf("schema has a $dynamicRef at %s; use $ref", at)
		case s.Ref != "":
			refs = append(refs, s)
		}
		if s.Pattern != "" {
			pattern, err := regexp.Compile(s.Pattern)
			if err != nil {
				return fmt.Errorf("schema has a pattern at %s that Go's regexp does not take: %w", at, err)
			}
			v.patterns[s] = pattern
		}
		for segment, child := range subschemas(s) {
			if child == nil {
				return fmt.Errorf("schema at %s/%s is null", at, segment)
			}
			if err := index(child, at+"/"+segment); err != nil {
				return err
			}
		}
		return nil
	}
	if err := index(v.root, "#"); err != nil {
		return err
	}
	for _, s := range refs {
		if !strings.HasPrefix(s.Ref, "#") {
			return fmt.Errorf("schema refers to %q; only references into itself, like #/$defs/name, are followed", clip(s.Ref))
		}
		pointer, err := url.PathUnescape(s.Ref)
		if err != nil || byPointer[pointer] == nil {
			return fmt.Errorf("schema refers to %q, which it does not have", clip(s.Ref))
		}
		v.refs[s] = byPointer[pointer]
	}
	return nil
}

// findInPlaceCycle looks for a schema that must be applied to a value in order
// to apply itself to the same value. The check of such a one never ends.
func (v *Validator) findInPlaceCycle() (string, bool) {
	const (
		open = iota + 1
		closed
	)
	state := map[*jsonschema.Schema]int{}
	var cyclic func(s *jsonschema.Schema) bool
	cyclic = func(s *jsonschema.Schema) bool {
		switch state[s] {
		case open:
			return true
		case closed:
			return false
		}
		state[s] = open
		if target := v.refs[s]; target != nil && cyclic(target) {
			return true
		}
		for child := range inPlace(s) {
			if cyclic(child) {
				return true
			}
		}
		state[s] = closed
		return false
	}
	var visit func(s *jsonschema.Schema, at string) (string, bool)
	visit = func(s *jsonschema.Schema, at string) (string, bool) {
		if cyclic(s) {
			return at, true
		}
		for segment, child := range subschemas(s) {
			if found, ok := visit(child, at+"/"+segment); ok {
				return found, true
			}
		}
		return "", false
	}
	return visit(v.root, "#")
}
