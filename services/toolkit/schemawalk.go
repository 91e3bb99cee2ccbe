package toolkit

import (
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// escapePointer writes a name as one segment of a JSON pointer (RFC 6901).
func escapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// subschemas yields every schema directly inside s with its JSON pointer from s.
func subschemas(s *jsonschema.Schema) iter.Seq2[string, *jsonschema.Schema] {
	return func(yield func(string, *jsonschema.Schema) bool) {
		for _, f := range []struct {
			name string
			one  *jsonschema.Schema
		}{
			{"not", s.Not}, {"if", s.If}, {"then", s.Then}, {"else", s.Else},
			{"items", s.Items}, {"additionalItems", s.AdditionalItems},
			{"contains", s.Contains}, {"unevaluatedItems", s.UnevaluatedItems},
			{"additionalProperties", s.AdditionalProperties}, {"propertyNames", s.PropertyNames},
			{"unevaluatedProperties", s.UnevaluatedProperties}, {"contentSchema", s.ContentSchema},
		} {
			if f.one != nil && !yield(f.name, f.one) {
				return
			}
		}
		for _, f := range []struct {
			name string
			list []*jsonschema.Schema
		}{
			{"allOf", s.AllOf}, {"anyOf", s.AnyOf}, {"oneOf", s.OneOf},
			{"prefixItems", s.PrefixItems}, {"items", s.ItemsArray},
		} {
			for i, child := range f.list {
				if !yield(f.name+"/"+strconv.Itoa(i), child) {
					return
				}
			}
		}
		for _, f := range []struct {
			name string
			by   map[string]*jsonschema.Schema
		}{
			{"$defs", s.Defs}, {"definitions", s.Definitions}, {"properties", s.Properties},
			{"patternProperties", s.PatternProperties}, {"dependentSchemas", s.DependentSchemas},
			{"dependencies", s.DependencySchemas},
		} {
			for name, child := range f.by {
				if !yield(f.name+"/"+escapePointer(name), child) {
					return
				}
			}
		}
	}
}

// inPlace yields the schemas inside s that apply to the same value as s.
func inPlace(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		for _, one := range []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else} {
			if one != nil && !yield(one) {
				return
			}
		}
		for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
			for _, child := range list {
				if !yield(child) {
					return
				}
			}
		}
		for _, by := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
			for _, child := range by {
				if !yield(child) {
					return
				}
			}
		}
	}
}

// maxSteps bounds the work of one check: one step is one schema applied to one
// value. The largest honest arguments (1 MiB of numbers) take a quarter of it.
const maxSteps = 2_000_000

// bytesPerStep is how much text costs as much as one step.
const bytesPerStep = 16

// sizeOf estimates the bytes that a value has as text.
func sizeOf(value any) int {
	const perValue = 4
	switch value := value.(type) {
	case string:
		return perValue + len(value)
	case json.Number:
		return perValue + len(value)
	case []any:
		n := perValue
		for _, item := range value {
			n += sizeOf(item)
		}
		return n
	case map[string]any:
		n := perValue
		for name, item := range value {
			n += perValue + len(name) + sizeOf(item)
		}
		return n
	}
	return perValue
}

// budget counts steps down.
type budget struct{ left int }

func (b *budget) spend(n int) bool {
	b.left -= n
	return b.left > 0
}

// weigh walks everything that a complete validation of value could visit, and
// reports false when that is over the budget. The library that validates has no
// such bound.
func (v *Validator) weigh(b *budget, s *jsonschema.Schema, value any) bool {
	if !b.spend(1 + len(s.Enum)) {
		return false
	}
	if target := v.refs[s]; target != nil && !v.weigh(b, target, value) {
		return false
	}
	// For each branch that does not fit, the library writes the whole value into
	// an error and keeps it.
	if n := len(s.AnyOf) + len(s.OneOf) + len(s.AllOf); n > 0 && !b.spend(n*sizeOf(value)/bytesPerStep) {
		return false
	}
	for child := range inPlace(s) {
		if !v.weigh(b, child, value) {
			return false
		}
	}
	all := func(value any, schemas ...*jsonschema.Schema) bool {
		for _, child := range schemas {
			if child != nil && !v.weigh(b, child, value) {
				return false
			}
		}
		return true
	}
	switch value := value.(type) {
	case string:
		return s.Pattern == "" || b.spend(len(value)/bytesPerStep)
	case []any:
		for i, item := range value {
			if i < len(s.PrefixItems) && !all(item, s.PrefixItems[i]) ||
				i < len(s.ItemsArray) && !all(item, s.ItemsArray[i]) ||
				!all(item, s.Items, s.AdditionalItems, s.Contains, s.UnevaluatedItems) {
				return false
			}
		}
	case map[string]any:
		if !b.spend(len(s.Properties) + len(s.Required) + len(s.DependentRequired) + len(s.DependencyStrings)) {
			return false
		}
		for name, item := range value {
			for _, child := range s.PatternProperties {
				if !all(item, child) {
					return false
				}
			}
			if !all(item, s.Properties[name], s.AdditionalProperties, s.UnevaluatedProperties) ||
				!all(name, s.PropertyNames) {
				return false
			}
		}
	}
	return true
}

// typeOf names the JSON Schema type of a parsed value; a number without a
// fraction is an integer, however it is written.
func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if isInteger(string(value)) {
			return "integer"
		}
		if f, err := value.Float64(); err == nil && f == math.Trunc(f) {
			return "integer"
		}
	}
	return "number"
}

// wants reports whether s itself takes values of the type.
func wants(s *jsonschema.Schema, typ string) bool {
	types := typesOf(s)
	return len(types) == 0 || slices.Contains(types, typ) || typ == "integer" && slices.Contains(types, "number")
}

func typesOf(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

// native gives the value as the validating library wants it: with Go numbers,
// since it takes a json.Number for a string.
func native(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(string(value), 10, 64); err == nil {
			return n
		}
		f, _ := value.Float64()
		return f
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = native(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, item := range value {
			out[name] = native(item)
		}
		return out
	}
	return value
}
