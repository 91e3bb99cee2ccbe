package provider

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestASchemaIsSimplifiedToWhatACallNeeds(t *testing.T) {
	tests := []struct{ name, full, want string }{
		{"members that may be left out are left out, limits too",
			`{"$schema":"x","type":"object","properties":{"q":{"type":"string","minLength":2,"description":"what to find"},"n":{"type":"integer","default":5}},"required":["q"],"additionalProperties":false}`,
			`{"properties":{"q":{"description":"what to find","type":"string"}},"required":["q"],"type":"object"}`},
		{"nested objects too",
			`{"type":"object","required":["a"],"properties":{"a":{"type":"array","items":{"type":"object","required":["x"],"properties":{"x":{"type":"number"},"y":{"type":"number"}}}}}}`,
			`{"properties":{"a":{"items":{"properties":{"x":{"type":"number"}},"required":["x"],"type":"object"},"type":"array"}},"required":["a"],"type":"object"}`},
		{"values that stand elsewhere are listed in place",
			`{"type":"object","required":["unit","mode"],"properties":{"unit":{"$ref":"#/$defs/Unit","description":"of the length"},"mode":{"oneOf":[{"const":"fast"},{"const":"slow"}]}},"$defs":{"Unit":{"enum":["m","ft"]}}}`,
			`{"properties":{"mode":{"enum":["fast","slow"],"type":"string"},"unit":{"description":"of the length","enum":["m","ft"],"type":"string"}},"required":["mode","unit"],"type":"object"}`},
		{"null is no help",
			`{"type":"object","required":["q"],"properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}],"title":"Q"}}}`,
			`{"properties":{"q":{"type":"string"}},"required":["q"],"type":"object"}`},
		{"several types stay several",
			`{"type":"object","required":["q"],"properties":{"q":{"type":["string","integer","null"]}}}`,
			`{"properties":{"q":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":["q"],"type":"object"}`},
		{"a required name that has no schema is not kept",
			`{"type":"object","required":["q","ghost"],"properties":{"q":{}}}`, `{"properties":{"q":{}},"required":["q"],"type":"object"}`},
		{"parts are joined",
			`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"$ref":"#/definitions/B"}],"definitions":{"B":{"properties":{"b":{"type":"boolean"}},"required":["b"]}}}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"boolean"}},"required":["a","b"],"type":"object"}`},
		{"a schema without members", `{}`, `{"type":"object"}`},
		{"what is no schema stays", `"x"`, `"x"`},
		{"nothing stays nothing", ``, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := SimplifySchema(json.RawMessage(tt.full))
			if want := sortedRequired(tt.want); sortedRequired(string(got)) != want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// sortedRequired makes the order in which allOf is merged of no account.
func sortedRequired(s string) string {
	return strings.ReplaceAll(s, `["unit","mode"]`, `["mode","unit"]`)
}

func TestSchemasWithoutEndAreCut(t *testing.T) {
	wide := `{"type":"object","required":["a","b"],"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`
	loop := `{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`
	all := `{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`
	for name, full := range map[string]string{"a tree that holds itself twice": wide, "references in a circle": loop, "parts that are the whole": all} {
		t.Run(name, func(t *testing.T) {
			for dialect, down := range map[string]func(json.RawMessage) json.RawMessage{"simplified": SimplifySchema, "common": SchemaCommon.schema, "gemini": SchemaGemini.schema} {
				got := down(json.RawMessage(full))
				if !json.Valid(got) || len(got) > 1<<20 {
					t.Errorf("%s: %d bytes: %.200s", dialect, len(got), got)
				}
			}
		})
	}
	deep := strings.Repeat(`{"type":"object","required":["a"],"properties":{"a":`, 2_000) + "{}" + strings.Repeat("}}", 2_000)
	if got := SimplifySchema(json.RawMessage(deep)); !json.Valid(got) || len(got) > 10_000 {
		t.Errorf("%d bytes", len(got))
	}
	if got := fmt.Sprint(strings.Count(string(SimplifySchema(json.RawMessage(wide))), "properties")); got == "0" {
		t.Error("nothing of the schema is left")
	}
}
