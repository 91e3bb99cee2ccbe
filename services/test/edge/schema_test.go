package edge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// described is the whole document, for holding values against its schemas.
type described map[string]any

func parseDescribed(t *testing.T, text string) described {
	t.Helper()
	var d map[string]any // the package makes maps within of the same type
	if err := yaml.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// at follows keys into the document; nil where there is nothing.
func (d described) at(keys ...string) map[string]any {
	here := map[string]any(d)
	for _, k := range keys {
		here, _ = here[k].(map[string]any)
	}
	return here
}

// problem says why a JSON value is not of a schema; empty when it is. A member
// that the schema does not have is a problem, too, unless it allows any.
func (d described) problem(schema map[string]any, value any, at string) string {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/definitions/")
		if schema = d.at("definitions", name); schema == nil {
			return fmt.Sprintf("%s: the document does not define %s", at, name)
		}
	}
	if allowed, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(allowed, func(one any) bool { return fmt.Sprint(one) == fmt.Sprint(value) }) {
		return fmt.Sprintf("%s is %v, none of %v", at, value, allowed)
	}
	kind, _ := schema["type"].(string)
	format, _ := schema["format"].(string)
	fits := kind == ""
	switch v := value.(type) {
	case map[string]any:
		if kind == "object" {
			return d.objectProblem(schema, v, at)
		}
	case []any:
		if kind == "array" {
			items, _ := schema["items"].(map[string]any)
			for i, item := range v {
				if p := d.problem(items, item, fmt.Sprintf("%s[%d]", at, i)); p != "" {
					return p
				}
			}
			return ""
		}
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); format == "date-time" && err != nil {
			return fmt.Sprintf("%s: %q is no time of RFC 3339", at, v)
		}
		fits = fits || kind == "string"
	case bool:
		fits = fits || kind == "boolean"
	case float64:
		whole := v == math.Trunc(v) && (format != "int32" || v >= math.MinInt32 && v <= math.MaxInt32)
		fits = fits || kind == "number" || kind == "integer" && whole
	}
	if !fits {
		return fmt.Sprintf("%s is %v, no %s %s", at, value, kind, format)
	}
	return ""
}

func (d described) objectProblem(schema, value map[string]any, at string) string {
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := value[name.(string)]; !ok {
			return fmt.Sprintf("%s lacks %s", at, name)
		}
	}
	known, hasKnown := schema["properties"].(map[string]any)
	more, hasMore := schema["additionalProperties"]
	for _, name := range sorted(value) {
		member, ok := known[name].(map[string]any)
		if !ok {
			member, ok = more.(map[string]any)
		}
		switch {
		case ok:
			if p := d.problem(member, value[name], at+"."+name); p != "" {
				return p
			}
		case more == true, !hasKnown && !hasMore: // any
		default:
			return fmt.Sprintf("%s has %s, which the document does not know", at, name)
		}
	}
	return ""
}

func TestValuesAreHeldAgainstASchema(t *testing.T) {
	d := parseDescribed(t, `
definitions:
  Thing:
    type: object
    required: [id]
    properties:
      id: {type: string}
      size: {type: integer, format: int32}
      at: {type: string, format: date-time}
      state: {type: string, enum: [on, off]}
      parts: {type: array, items: {$ref: '#/definitions/Thing'}}
      names: {type: object, additionalProperties: {type: string}}
      free: {type: object}
`)
	thing := map[string]any{"$ref": "#/definitions/Thing"}
	for _, c := range []struct {
		name    string
		value   any
		problem string
	}{
		{"all of it", map[string]any{"id": "1", "size": 3.0, "at": "2026-01-02T03:04:05.6Z", "state": "on",
			"parts": []any{map[string]any{"id": "2"}}, "names": map[string]any{"x": "y"}, "free": map[string]any{"x": 1.0}}, ""},
		{"no object", "1", "v is 1, no object"},
		{"nothing", nil, "v is <nil>, no object"},
		{"a member too few", map[string]any{}, "v lacks id"},
		{"a member too many", map[string]any{"id": "1", "other": 1.0}, "v has other"},
		{"a broken number", map[string]any{"id": "1", "size": 1.5}, "v.size is 1.5"},
		{"a number that is too large", map[string]any{"id": "1", "size": 1e12}, "v.size is"},
		{"a text for a number", map[string]any{"id": "1", "size": "1"}, "v.size is 1"},
		{"no time", map[string]any{"id": "1", "at": "yesterday"}, "no time"},
		{"none of the words", map[string]any{"id": "1", "state": "half"}, "none of [on off]"},
		{"deep inside", map[string]any{"id": "1", "parts": []any{map[string]any{"id": 2.0}}}, "v.parts[0].id is 2"},
		{"a wrong value of a map", map[string]any{"id": "1", "names": map[string]any{"x": true}}, "v.names.x is true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := d.problem(thing, c.value, "v"); (got == "") != (c.problem == "") || !strings.Contains(got, c.problem) {
				t.Errorf("problem = %q, want %q", got, c.problem)
			}
		})
	}
}
