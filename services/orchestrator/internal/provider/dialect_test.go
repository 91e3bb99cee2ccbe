package provider

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSchemasAreWrittenInTheDialectOfTheEndpoint(t *testing.T) {
	object := func(member string) string {
		return `{"properties":{"p":` + member + `},"required":["p"],"type":"object"}`
	}
	tests := []struct{ name, in, common, gemini string }{
		{"keywords of identity and example", `{"type":"string","$id":"x","$comment":"c","title":"P","default":"a","examples":["a"],"description":"d"}`,
			`{"description":"d","type":"string"}`, `{"description":"d","type":"string"}`},
		{"limits", `{"type":"string","minLength":2,"maxLength":9,"pattern":"^a"}`,
			`{"maxLength":9,"minLength":2,"pattern":"^a","type":"string"}`, `{"maxLength":9,"minLength":2,"pattern":"^a","type":"string"}`},
		{"a format that Gemini knows", `{"type":"string","format":"date-time"}`, `{"format":"date-time","type":"string"}`, `{"format":"date-time","type":"string"}`},
		{"a format that it does not", `{"type":"string","format":"uri"}`, `{"format":"uri","type":"string"}`, `{"type":"string"}`},
		{"an excluded limit of integers", `{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10}`,
			`{"maximum":9,"minimum":1,"type":"integer"}`, `{"maximum":9,"minimum":1,"type":"integer"}`},
		{"an excluded limit of numbers", `{"type":"number","exclusiveMinimum":0.5}`, `{"minimum":0.5,"type":"number"}`, `{"minimum":0.5,"type":"number"}`},
		{"an excluded limit as draft 4 has it", `{"type":"integer","minimum":0,"exclusiveMinimum":true}`, `{"minimum":1,"type":"integer"}`, `{"minimum":1,"type":"integer"}`},
		{"const", `{"const":"a"}`, `{"enum":["a"],"type":"string"}`, `{"enum":["a"],"type":"string"}`},
		{"values that are no texts", `{"type":"integer","enum":[1,2],"description":"How many."}`,
			`{"description":"How many.","enum":[1,2],"type":"integer"}`, `{"description":"How many. One of: 1, 2.","type":"integer"}`},
		{"an empty text among the values", `{"type":"string","enum":["","a"]}`, `{"enum":["","a"],"type":"string"}`, `{"enum":["a"],"type":"string"}`},
		{"optional by anyOf", `{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"description":"d"}`,
			`{"anyOf":[{"type":"string"},{"type":"null"}],"description":"d"}`, `{"description":"d","nullable":true,"type":"string"}`},
		{"optional by a list of types", `{"type":["integer","null"],"minimum":1}`,
			`{"anyOf":[{"minimum":1,"type":"integer"},{"type":"null"}]}`, `{"minimum":1,"nullable":true,"type":"integer"}`},
		{"optional as OpenAPI has it", `{"type":"string","nullable":true}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"nullable":true,"type":"string"}`},
		{"optional values", `{"enum":["a",null]}`, `{"anyOf":[{"enum":["a"],"type":"string"},{"type":"null"}]}`, `{"enum":["a"],"nullable":true,"type":"string"}`},
		{"several types", `{"type":["string","array","null"],"items":{"type":"string"},"description":"d"}`,
			`{"anyOf":[{"type":"string"},{"items":{"type":"string"},"type":"array"},{"type":"null"}],"description":"d"}`,
			`{"anyOf":[{"description":"d","nullable":true,"type":"string"},{"description":"d","items":{"type":"string"},"nullable":true,"type":"array"}]}`},
		{"oneOf", `{"oneOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}]}`,
			`{"anyOf":[{"type":"string"},{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}]}`,
			`{"anyOf":[{"type":"string"},{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}]}`},
		{"a type beside the alternatives", `{"type":"string","anyOf":[{"format":"date-time"},{"pattern":"^x"}]}`,
			`{"anyOf":[{"format":"date-time","type":"string"},{"pattern":"^x","type":"string"}]}`, `{"anyOf":[{"format":"date-time","type":"string"},{"pattern":"^x","type":"string"}]}`},
		{"alternatives that only demand members", `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`, `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`},
		{"conditions", `{"type":"object","properties":{"a":{"type":"string"}},"if":{},"then":{},"propertyNames":{"pattern":"a"},"patternProperties":{"^x":{}},"additionalProperties":false}`,
			`{"properties":{"a":{"type":"string"}},"type":"object"}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{"a dictionary", `{"type":"object","additionalProperties":{"type":"integer"}}`, `{"additionalProperties":{"type":"integer"},"type":"object"}`, `{"type":"object"}`},
		{"a list without items", `{"type":"array"}`, `{"type":"array"}`, `{"items":{"type":"string"},"type":"array"}`},
		{"a list with a schema for each place", `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`,
			`{"items":{"anyOf":[{"type":"string"},{"type":"integer"}]},"type":"array"}`, `{"items":{"anyOf":[{"type":"string"},{"type":"integer"}]},"type":"array"}`},
		{"members of what is no object", `{"type":"string","properties":{"a":{}},"required":["a"],"items":{}}`, `{"type":"string"}`, `{"type":"string"}`},
		{"members without a type", `{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{"anything", `{"description":"d"}`,
			`{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{"type":"string"},"type":"array"}],"description":"d"}`, `{"description":"d","type":"string"}`},
		{"anything, as a truth value", `true`,
			`{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{"type":"string"},"type":"array"}]}`, `{"type":"string"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			full := json.RawMessage(object(tt.in))
			if got := string(SchemaFull.schema(full)); got != string(full) {
				t.Errorf("full: %s", got)
			}
			if got := string(SchemaCommon.schema(full)); got != object(tt.common) {
				t.Errorf("common:\n got %s\nwant %s", got, object(tt.common))
			}
			if got := string(SchemaGemini.schema(full)); got != object(tt.gemini) {
				t.Errorf("gemini:\n got %s\nwant %s", got, object(tt.gemini))
			}
			for dialect, broken := range map[Dialect]func(string, any) error{SchemaCommon: notCommon, SchemaGemini: notGemini} {
				checkSchema(t, dialect, full, broken)
			}
		})
	}
}

func TestTheParametersOfAToolAreAlwaysAnObject(t *testing.T) {
	tests := []struct{ name, in, common, gemini string }{
		{"no schema", ``, `{"properties":{},"type":"object"}`, `{"type":"object"}`},
		{"an empty one", `{}`, `{"properties":{},"type":"object"}`, `{"type":"object"}`},
		{"a truth value", `true`, `{"properties":{},"type":"object"}`, `{"type":"object"}`},
		{"no JSON", `{`, `{"properties":{},"type":"object"}`, `{"type":"object"}`},
		{"another type", `{"type":"string"}`, `{"properties":{},"type":"object"}`, `{"type":"object"}`},
		{"alternatives", `{"oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`, `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`},
		{"alternatives beside the type", `{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}}}]}`,
			`{"properties":{"a":{"type":"string"}},"type":"object"}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{"alternatives that say nothing", `{"type":"object","oneOf":[{"required":["a"]},{"not":{}}]}`, `{"properties":{},"type":"object"}`, `{"type":"object"}`},
		{"an object that may be null", `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`,
			`{"properties":{"a":{"type":"string"}},"type":"object"}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(SchemaCommon.schema(json.RawMessage(tt.in))); got != tt.common {
				t.Errorf("common: %s", got)
			}
			if got := string(SchemaGemini.schema(json.RawMessage(tt.in))); got != tt.gemini {
				t.Errorf("gemini: %s", got)
			}
		})
	}
}

func TestSchemasOfAllSortsBecomeWhatTheDialectAllows(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	for range 500 {
		raw, err := json.Marshal(map[string]any{
			"type": "object", "properties": map[string]any{"p": randomSchema(rnd, 4)}, "required": []any{"p", "ghost"},
			"$defs": map[string]any{"A": randomSchema(rnd, 3), "B": randomSchema(rnd, 2)},
		})
		if err != nil {
			t.Fatal(err)
		}
		checkSchema(t, SchemaCommon, raw, notCommon)
		checkSchema(t, SchemaGemini, raw, notGemini)
		if !json.Valid(SimplifySchema(raw)) {
			t.Fatalf("simplified: %s", SimplifySchema(raw))
		}
		if t.Failed() {
			return
		}
	}
}

// Thousands of functions that people described, each in every dialect.
func TestRecordedFunctionsFitTheDialects(t *testing.T) {
	functions := 0
	for _, set := range bfclSets {
		for _, c := range bfcl(t, set) {
			for _, tool := range c.tools {
				functions++
				checkSchema(t, SchemaCommon, tool.Parameters, notCommon)
				checkSchema(t, SchemaGemini, tool.Parameters, notGemini)
				checkSchema(t, SchemaGemini, SimplifySchema(tool.Parameters), notGemini)
			}
		}
	}
	t.Logf("%d functions", functions)
}

// randomSchema makes a schema, sensible or not.
func randomSchema(rnd *rand.Rand, depth int) any {
	types := []any{"string", "integer", "number", "boolean", "array", "object", "null"}
	if depth == 0 {
		return map[string]any{"type": types[rnd.IntN(len(types))]}
	}
	sub := func() any { return randomSchema(rnd, depth-1) }
	parts := map[string]func() any{
		"type": func() any {
			if rnd.IntN(4) == 0 {
				return []any{types[rnd.IntN(7)], types[rnd.IntN(7)]}
			}
			return types[rnd.IntN(7)]
		},
		"description": func() any { return "d" },
		"enum":        func() any { return []any{"a", 1, nil, true, ""}[rnd.IntN(5):] },
		"const":       func() any { return []any{"a", 1, nil, 1.5, map[string]any{}}[rnd.IntN(5)] },
		"properties": func() any {
			return map[string]any{"a": sub(), "b": sub()}
		},
		"required":             func() any { return []any{"a", "c"} },
		"items":                func() any { return []any{sub(), true, []any{sub(), sub()}}[rnd.IntN(3)] },
		"prefixItems":          func() any { return []any{sub()} },
		"anyOf":                func() any { return []any{sub(), sub()} },
		"oneOf":                func() any { return []any{sub(), map[string]any{"type": "null"}} },
		"allOf":                func() any { return []any{sub(), sub()} },
		"$ref":                 func() any { return []any{"#/$defs/A", "#/$defs/B", "#", "#/none", "http://far.example"}[rnd.IntN(5)] },
		"exclusiveMinimum":     func() any { return []any{0, true, 1.5}[rnd.IntN(3)] },
		"minimum":              func() any { return 2 },
		"format":               func() any { return "uri" },
		"default":              func() any { return "x" },
		"additionalProperties": func() any { return []any{false, sub()}[rnd.IntN(2)] },
		"nullable":             func() any { return true },
		"not":                  sub,
	}
	names := make([]string, 0, len(parts))
	for name := range parts {
		names = append(names, name)
	}
	slices.Sort(names) // so that the seed says it all
	out := map[string]any{}
	for range 1 + rnd.IntN(4) {
		name := names[rnd.IntN(len(names))]
		out[name] = parts[name]()
	}
	if rnd.IntN(15) == 0 {
		return rnd.IntN(2) == 0
	}
	return out
}

// checkSchema fails when a schema in a dialect breaks its rules.
func checkSchema(t *testing.T, d Dialect, full json.RawMessage, broken func(string, any) error) {
	t.Helper()
	got := d.schema(full)
	var v map[string]any
	if err := json.Unmarshal(got, &v); err != nil || v["type"] != "object" {
		t.Errorf("%s: no object: %v\n%s", d, err, got)
		return
	}
	if err := broken("", v); err != nil {
		t.Errorf("%s: %v\nfrom %s\nmade %s", d, err, full, got)
	}
}

// notCommon reports what Kimi would refuse in a schema.
func notCommon(at string, v any) error {
	return eachNode(at, v, func(at string, m map[string]any) error {
		for _, word := range []string{"$ref", "$defs", "$schema", "default", "oneOf", "allOf", "not", "const", "if", "patternProperties", "title", "nullable", "exclusiveMinimum"} {
			if _, ok := m[word]; ok {
				return fmt.Errorf("%s has %s", at, word)
			}
		}
		_, alternatives := m["anyOf"]
		if _, typed := m["type"].(string); typed == alternatives {
			return fmt.Errorf("%s: a type and alternatives, or neither", at)
		}
		return nil
	})
}

// notGemini reports what Gemini would refuse in a schema.
func notGemini(at string, v any) error {
	known := []string{"type", "description", "nullable", "enum", "items", "properties", "required", "anyOf", "format",
		"minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern"}
	return eachNode(at, v, func(at string, m map[string]any) error {
		for word := range m {
			if !slices.Contains(known, word) {
				return fmt.Errorf("%s has %s", at, word)
			}
		}
		if m["anyOf"] != nil {
			if len(m) != 1 {
				return fmt.Errorf("%s has something beside anyOf", at)
			}
			return nil
		}
		kind, _ := m["type"].(string)
		if !slices.Contains([]string{"string", "integer", "number", "boolean", "array", "object"}, kind) {
			return fmt.Errorf("%s has the type %v", at, m["type"])
		}
		if (kind == "array") != (m["items"] != nil) {
			return fmt.Errorf("%s: items and type do not fit", at)
		}
		members, has := m["properties"].(map[string]any)
		if has && (kind != "object" || len(members) == 0) {
			return fmt.Errorf("%s: properties and type do not fit", at)
		}
		required, _ := m["required"].([]any)
		for _, name := range required {
			if members[name.(string)] == nil {
				return fmt.Errorf("%s requires %v, which is not there", at, name)
			}
		}
		enum, has := m["enum"].([]any)
		for _, e := range enum {
			if s, ok := e.(string); !ok || s == "" {
				return fmt.Errorf("%s lists %v", at, e)
			}
		}
		if has && (kind != "string" || len(enum) == 0) {
			return fmt.Errorf("%s: enum and type do not fit", at)
		}
		return nil
	})
}

// eachNode calls f for a schema and all below it.
func eachNode(at string, v any, f func(string, map[string]any) error) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is %v", at, v)
	}
	if err := f(at, m); err != nil {
		return err
	}
	below := map[string]any{}
	if p, ok := m["properties"].(map[string]any); ok {
		for name, s := range p {
			below["/"+name] = s
		}
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if s, ok := m[word]; ok {
			below["/"+word] = s
		}
	}
	list, _ := m["anyOf"].([]any)
	for i, s := range list {
		below[fmt.Sprintf("/anyOf/%d", i)] = s
	}
	for path, s := range below {
		if err := eachNode(at+path, s, f); err != nil {
			return err
		}
	}
	return nil
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"q":{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}},"$defs":{"A":{"enum":[1,"a"]}}}`)
	f.Add(`{"allOf":[{"$ref":"#"}],"items":[{},true],"type":["array","null"],"exclusiveMinimum":1e400}`)
	f.Add(`{"$ref":"#/properties/~1a/~0b","properties":{"/a":{"~b":{}}}}`)
	f.Fuzz(func(t *testing.T, in string) {
		if strings.Count(in, "{") > 200 {
			return
		}
		checkSchema(t, SchemaCommon, json.RawMessage(in), notCommon)
		checkSchema(t, SchemaGemini, json.RawMessage(in), notGemini)
		if json.Valid([]byte(in)) && !json.Valid(SimplifySchema(json.RawMessage(in))) {
			t.Fatalf("simplified: %s", SimplifySchema(json.RawMessage(in)))
		}
	})
}
