package toolkit

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// ArgumentError says what is wrong with arguments, in words a model can act on.
type ArgumentError struct {
	// Pointer is the JSON pointer (RFC 6901) of the wrong value; empty for the
	// arguments as a whole.
	Pointer string
	// Expected is what should be there.
	Expected string
	// Got is what is there, shortened.
	Got string
}

// Error implements error: "/max_results: expected an integer, got a string "ten"".
func (e *ArgumentError) Error() string {
	where := e.Pointer
	if where == "" {
		where = "the arguments"
	}
	return fmt.Sprintf("%s: expected %s, got %s", where, e.Expected, e.Got)
}

// explainer finds the first place where a value breaks a schema. It knows the
// keywords that tools use; what it does not know it takes for kept. The verdict
// is the validating library's, which knows them all but names no place.
type explainer struct {
	v *Validator
	budget
}

func (v *Validator) newExplainer() *explainer {
	return &explainer{v: v, budget: budget{left: maxSteps}}
}

func tooComplex(at string) *ArgumentError {
	return &ArgumentError{at, "arguments that can be checked in reasonable time", "too many combinations for the tool's schema"}
}

func (e *explainer) explain(s *jsonschema.Schema, value any, at string) *ArgumentError {
	if !e.spend(1 + len(s.Enum)) {
		return tooComplex(at)
	}
	if target := e.v.refs[s]; target != nil {
		if err := e.explain(target, value, at); err != nil || e.v.draft7 {
			return err
		}
	}
	if !wants(s, typeOf(value)) {
		return &ArgumentError{at, describe(s), show(value)}
	}
	if s.Enum != nil || s.Const != nil {
		plain := native(value)
		equal := func(allowed any) bool { return jsonschema.Equal(allowed, plain) }
		if s.Enum != nil && !slices.ContainsFunc(s.Enum, equal) || s.Const != nil && !equal(*s.Const) {
			return &ArgumentError{at, describe(s), show(value)}
		}
	}
	for _, child := range s.AllOf {
		if err := e.explain(child, value, at); err != nil {
			return err
		}
	}
	for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if err := e.branches(branches, value, at); err != nil {
			return err
		}
	}
	switch value := value.(type) {
	case json.Number:
		return e.number(s, value, at)
	case string:
		return e.text(s, value, at)
	case []any:
		return e.array(s, value, at)
	case map[string]any:
		return e.object(s, value, at)
	}
	return nil
}

// branches wants one of several schemas kept. Where only one takes the type of
// the value, that one's complaint is the useful one.
func (e *explainer) branches(branches []*jsonschema.Schema, value any, at string) *ArgumentError {
	if len(branches) == 0 {
		return nil
	}
	var forms []string
	var closest []*ArgumentError
	for _, branch := range branches {
		err := e.explain(branch, value, at)
		if err == nil {
			return nil
		}
		target := e.v.target(branch)
		if form := describe(target); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
		if wants(target, typeOf(value)) {
			closest = append(closest, err)
		}
	}
	if len(closest) == 1 {
		return closest[0]
	}
	return &ArgumentError{at, strings.Join(forms, " or "), show(value)}
}

func (e *explainer) number(s *jsonschema.Schema, value json.Number, at string) *ArgumentError {
	n, _ := value.Float64()
	if s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum ||
		s.ExclusiveMinimum != nil && n <= *s.ExclusiveMinimum ||
		s.ExclusiveMaximum != nil && n >= *s.ExclusiveMaximum {
		return &ArgumentError{at, describe(s), show(value)}
	}
	return nil
}

func (e *explainer) text(s *jsonschema.Schema, value, at string) *ArgumentError {
	n := utf8.RuneCountInString(value)
	if s.MinLength != nil && n < *s.MinLength {
		return &ArgumentError{at, fmt.Sprintf("at least %d characters", *s.MinLength), fmt.Sprintf("%d: %s", n, show(value))}
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		return &ArgumentError{at, fmt.Sprintf("at most %d characters", *s.MaxLength), strconv.Itoa(n)}
	}
	if pattern := e.v.patterns[s]; pattern != nil && !pattern.MatchString(value) {
		return &ArgumentError{at, "text that matches " + clip(s.Pattern), show(value)}
	}
	return nil
}

func (e *explainer) array(s *jsonschema.Schema, value []any, at string) *ArgumentError {
	if s.MinItems != nil && len(value) < *s.MinItems {
		return &ArgumentError{at, fmt.Sprintf("at least %d items", *s.MinItems), strconv.Itoa(len(value))}
	}
	if s.MaxItems != nil && len(value) > *s.MaxItems {
		return &ArgumentError{at, fmt.Sprintf("at most %d items", *s.MaxItems), strconv.Itoa(len(value))}
	}
	for i, item := range value {
		if child := itemSchema(s, i); child != nil {
			if err := e.explain(child, item, at+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *explainer) object(s *jsonschema.Schema, value map[string]any, at string) *ArgumentError {
	if !e.spend(len(s.Required) + len(s.Properties)) {
		return tooComplex(at)
	}
	for _, name := range s.Required {
		if _, ok := value[name]; !ok {
			want := "a value"
			if child := s.Properties[name]; child != nil {
				want = describe(e.v.target(child))
			}
			return &ArgumentError{at + "/" + escapePointer(name), want + " (required)", "nothing"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		here := at + "/" + escapePointer(name)
		child := propertySchema(s, name)
		if child == nil {
			continue
		}
		if isFalse(child) {
			return &ArgumentError{here, onlyProperties(s), "an unknown property"}
		}
		if err := e.explain(child, value[name], here); err != nil {
			return err
		}
	}
	return nil
}

// target follows the reference that s may be.
func (v *Validator) target(s *jsonschema.Schema) *jsonschema.Schema {
	if t := v.refs[s]; t != nil {
		return t
	}
	return s
}

// itemSchema is the schema of item i, or nil for none.
func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	switch {
	case i < len(s.PrefixItems):
		return s.PrefixItems[i]
	case i < len(s.ItemsArray):
		return s.ItemsArray[i]
	case s.ItemsArray != nil:
		return s.AdditionalItems
	}
	return s.Items
}

// propertySchema is the schema of a property, or nil for none. Schemas with
// patternProperties are left to the library.
func propertySchema(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if child := s.Properties[name]; child != nil {
		return child
	}
	if len(s.PatternProperties) > 0 {
		return nil
	}
	return s.AdditionalProperties
}

// isFalse reports whether s is the schema false, which the library parses to
// {"not": {}}.
func isFalse(s *jsonschema.Schema) bool {
	return s.Not != nil && reflect.ValueOf(*s.Not).IsZero()
}

func onlyProperties(s *jsonschema.Schema) string {
	names := slices.Sorted(maps.Keys(s.Properties))
	if len(names) == 0 {
		return "no properties"
	}
	return "only the properties " + clipTo(strings.Join(names, ", "), 4*maxShownBytes)
}

// describe names what a schema takes: "an integer from 1 to 10".
func describe(s *jsonschema.Schema) string {
	if s.Const != nil {
		return show(*s.Const)
	}
	if len(s.Enum) > 0 {
		shown := make([]string, len(s.Enum))
		for i, allowed := range s.Enum {
			shown[i] = show(allowed)
		}
		return "one of " + clipTo(strings.Join(shown, ", "), 4*maxShownBytes)
	}
	var kinds []string
	for _, typ := range typesOf(s) {
		kinds = append(kinds, article(typ))
	}
	if len(kinds) == 0 {
		return "another value"
	}
	return strings.Join(kinds, " or ") + bounds(s)
}

func bounds(s *jsonschema.Schema) string {
	var b strings.Builder
	for _, bound := range []struct {
		words string
		limit *float64
	}{
		{"from ", s.Minimum}, {"over ", s.ExclusiveMinimum}, {"to ", s.Maximum}, {"below ", s.ExclusiveMaximum},
	} {
		if bound.limit == nil {
			continue
		}
		words := bound.words
		if words == "to " && b.Len() == 0 {
			words = "up to "
		}
		b.WriteString(" " + words + formatDouble(*bound.limit))
	}
	return b.String()
}

func article(typ string) string {
	switch typ {
	case "null":
		return "null"
	case "integer", "array", "object":
		return "an " + typ
	}
	return "a " + typ
}

// show writes a value for an error: its type where that helps, and its text,
// shortened.
func show(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(clip(value))
	case []any:
		return fmt.Sprintf("an array of %d items", len(value))
	case map[string]any:
		return fmt.Sprintf("an object of %d properties", len(value))
	}
	return clip(fmt.Sprint(value))
}
