package toolkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Check prepares arguments that a model wrote. In this order it parses them
// exactly, repairs what does not fit the schema and can be meant in one way
// only, fills defaults, clamps numbers to their minimum and maximum, validates,
// and brings them into canonical form. Empty text is the empty object.
//
// Each repair and clamp is told in changes, for the model to learn from;
// defaults are not. The error is always an [*ArgumentError]. Check is
// idempotent: checked arguments come back as they are, without changes.
func (v *Validator) Check(argsJSON []byte) (canonical []byte, changes []string, err error) {
	return v.check(argsJSON, &repairer{explainer: v.newExplainer(), repairs: true, fills: true})
}

// CheckExact is Check for callers who are not models: it fills defaults and
// validates, and repairs and clamps nothing.
func (v *Validator) CheckExact(argsJSON []byte) (canonical []byte, err error) {
	canonical, _, err = v.check(argsJSON, &repairer{explainer: v.newExplainer(), fills: true})
	return canonical, err
}

// Coerce is the repairing half of [Validator.Check] alone. The value is one as
// encoding/json makes it with UseNumber; it is not modified.
func (v *Validator) Coerce(value any) (coerced any, changes []string) {
	r := &repairer{explainer: v.newExplainer(), repairs: true}
	coerced = r.fix(v.root, value, "")
	return coerced, r.changes
}

func (v *Validator) check(argsJSON []byte, r *repairer) ([]byte, []string, error) {
	if len(bytes.TrimSpace(argsJSON)) == 0 {
		argsJSON = []byte("{}")
	}
	value, err := parseJSON(argsJSON)
	if err != nil {
		return nil, nil, badText(err)
	}
	value = r.fix(v.root, value, "")
	if r.left <= 0 {
		return nil, nil, tooComplex("")
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, nil, &ArgumentError{"", "an object", show(value)}
	}
	if err := v.validate(value); err != nil {
		return nil, nil, err
	}
	// A repair unwraps JSON from strings and a default adds to the size, so the
	// limits hold for the outcome too.
	canonical, err := Canonical(appendCanonical(nil, value))
	if err != nil {
		return nil, nil, badText(err)
	}
	return canonical, r.changes, nil
}

func badText(err error) *ArgumentError {
	return &ArgumentError{"", "one well-formed JSON object", "text that is not: " + err.Error()}
}

// validate gives the verdict on a value, as an *ArgumentError in an error.
func (v *Validator) validate(value any) (err error) {
	if !v.weigh(&budget{left: maxSteps}, v.root, value) {
		return tooComplex("")
	}
	defer func() {
		if r := recover(); r != nil { // a schema of strangers must not end the process
			err = &ArgumentError{"", "arguments that the tool's schema can judge", fmt.Sprintf("a schema that cannot be evaluated: %v", r)}
		}
	}()
	if explained := v.newExplainer().explain(v.root, value, ""); explained != nil {
		return explained
	}
	verdict := v.resolved.Validate(native(value))
	if verdict == nil {
		return nil
	}
	// A keyword that the explainer does not know: the innermost words of the library.
	text := verdict.Error()
	text = text[strings.LastIndex(text, "validating ")+len("validating "):]
	return &ArgumentError{"", "arguments that keep the tool's schema", "a violation at " + clipTo(text, 4*maxShownBytes)}
}

// repairer makes a value fit a schema. It never modifies the value it is given.
type repairer struct {
	*explainer
	repairs bool // coerce and clamp
	fills   bool // fill defaults
	changes []string
}

func (r *repairer) note(at, format string, args ...any) {
	if at == "" {
		at = "the arguments"
	}
	r.changes = append(r.changes, at+": "+fmt.Sprintf(format, args...))
}

func (r *repairer) fix(s *jsonschema.Schema, value any, at string) any {
	if !r.spend(1) {
		return value // validate reports it
	}
	if target := r.v.refs[s]; target != nil {
		if value = r.fix(target, value, at); r.v.draft7 {
			return value
		}
	}
	if !wants(s, typeOf(value)) {
		return r.coerce(s, value, at)
	}
	for _, child := range s.AllOf {
		value = r.fix(child, value, at)
	}
	for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		value = r.fixBranches(branches, value, at)
	}
	switch typed := value.(type) {
	case json.Number:
		return r.clamp(s, typed, at)
	case []any:
		out := make([]any, len(typed))
		for i, item := range typed {
			if out[i] = item; itemSchema(s, i) != nil {
				out[i] = r.fix(itemSchema(s, i), item, at+"/"+strconv.Itoa(i))
			}
		}
		return out
	case map[string]any:
		return r.fixObject(s, typed, at)
	}
	return value
}

// fixBranches leaves a value that keeps one of the branches, and else takes the
// first branch that can be kept after a repair.
func (r *repairer) fixBranches(branches []*jsonschema.Schema, value any, at string) any {
	if len(branches) == 0 {
		return value
	}
	kept := slices.IndexFunc(branches, func(s *jsonschema.Schema) bool { return r.explain(s, value, at) == nil })
	if kept >= 0 {
		return r.fix(branches[kept], value, at)
	}
	for _, branch := range branches {
		mark := len(r.changes)
		fixed := r.fix(branch, value, at)
		if r.explain(branch, fixed, at) == nil {
			return fixed
		}
		r.changes = r.changes[:mark]
	}
	return value
}

func (r *repairer) fixObject(s *jsonschema.Schema, value map[string]any, at string) any {
	out := make(map[string]any, len(value))
	for _, name := range slices.Sorted(maps.Keys(value)) {
		child, item := propertySchema(s, name), value[name]
		here := at + "/" + escapePointer(name)
		switch {
		case child == nil || isFalse(child):
			out[name] = item
		case r.repairs && item == nil && !slices.Contains(s.Required, name) && r.explain(child, nil, here) != nil:
			r.note(here, "null left out") // many models write null for "not given"
		default:
			out[name] = r.fix(child, item, here)
		}
	}
	if r.fills && r.spend(len(s.Properties)) {
		for name, child := range s.Properties {
			if _, given := out[name]; given {
				continue
			}
			if value, ok := r.v.defaults[child]; ok {
				out[name] = r.fix(child, value, at+"/"+escapePointer(name))
			}
		}
	}
	return out
}

// clamp moves a number to the bound that it is beyond.
func (r *repairer) clamp(s *jsonschema.Schema, value json.Number, at string) any {
	n, err := value.Float64()
	if !r.repairs || err != nil {
		return value
	}
	low, high := math.Inf(-1), math.Inf(1)
	if s.Minimum != nil {
		low = *s.Minimum
	}
	if s.Maximum != nil {
		high = *s.Maximum
	}
	if !wants(s, "number") { // integers only
		low, high = math.Ceil(low), math.Floor(high)
	}
	bound := max(low, min(n, high))
	if bound == n || low > high {
		return value
	}
	clamped := json.Number(formatDouble(bound))
	r.note(at, "%s is out of range, %s taken", show(value), clamped)
	return clamped
}

// coerce tries the other readings of a value whose type is wrong, and takes the
// first that keeps the schema. It gives the value back when none does.
func (r *repairer) coerce(s *jsonschema.Schema, value any, at string) any {
	if !r.repairs {
		return value
	}
	for _, reading := range readings(s, value) {
		mark := len(r.changes)
		r.note(at, "%s read as %s", show(value), article(typeOf(reading)))
		fixed := r.fix(s, reading, at)
		if wants(s, typeOf(reading)) && r.explain(s, fixed, at) == nil {
			return fixed
		}
		r.changes = r.changes[:mark]
	}
	return value
}

// readings lists what else a value may have been meant as: JSON in a string, a
// number or boolean as text, one item for a list of one.
func readings(s *jsonschema.Schema, value any) []any {
	var list []any
	text, isText := value.(string)
	trimmed := strings.TrimSpace(text)
	if isText {
		switch inner, err := parseJSON([]byte(trimmed)); {
		case err == nil && inner != nil && wants(s, typeOf(inner)):
			list = append(list, inner)
		case wants(s, "boolean") && strings.EqualFold(trimmed, "true"):
			list = append(list, true)
		case wants(s, "boolean") && strings.EqualFold(trimmed, "false"):
			list = append(list, false)
		}
	} else if wants(s, "string") {
		switch value := value.(type) {
		case json.Number:
			list = append(list, string(value))
		case bool:
			list = append(list, strconv.FormatBool(value))
		}
	}
	// "[1, 2" is a broken list, not a list of one.
	if _, isList := value.([]any); !isList && value != nil && wants(s, "array") && !strings.HasPrefix(trimmed, "[") {
		list = append(list, []any{value})
	}
	return list
}
