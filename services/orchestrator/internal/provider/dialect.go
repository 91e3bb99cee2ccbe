package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Dialect is a form of JSON Schema. What a dialect cannot say is left out: the
// model is told less, and its arguments are checked against the whole schema all
// the same.
type Dialect string

// The dialects.
const (
	// SchemaFull is JSON Schema as it is.
	SchemaFull Dialect = ""
	// SchemaCommon is what every reader of schemas understands: references inlined,
	// a type everywhere, alternatives only as anyOf and with no type beside it, no
	// keyword of identity, example or condition. Kimi demands it
	// (MoonshotAI/kimi-cli#1595), and servers that read schemas into fixed types
	// do better with it.
	SchemaCommon Dialect = "common"
	// SchemaGemini is the subset of OpenAPI's schemas that Gemini takes; it refuses
	// the whole request for one other keyword (pizza-bot#62, goai#108).
	SchemaGemini Dialect = "gemini"
)

// dialects write a schema; nil: as it is.
var dialects = map[Dialect]func(*schemaNode) map[string]any{
	SchemaFull: nil, SchemaCommon: writeCommon, SchemaGemini: writeGemini,
}

// emptySchema is the schema of a tool without parameters.
const emptySchema = `{"type":"object","properties":{}}`

// schema is the schema of a tool's parameters in a dialect.
func (d Dialect) schema(full json.RawMessage) json.RawMessage {
	write := dialects[d]
	switch {
	case write == nil && len(bytes.TrimSpace(full)) == 0:
		return json.RawMessage(emptySchema)
	case write == nil:
		return full
	}
	n := readSchema(full)
	if n == nil { // none, true, or nonsense
		n = &schemaNode{kind: "object"}
	}
	if n.kind != "object" || len(n.anyOf) > 0 { // what arguments are, whatever the schema says
		n.widenAll()
	}
	n.nullable = false
	out := write(n)
	if d == SchemaCommon && out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	return encodeSchema(out, full)
}

// widenAll makes a node the object of all its alternatives' members, each of which
// may be left out.
func (n *schemaNode) widenAll() {
	n.kind, n.properties = "object", map[string]*schemaNode{}
	for _, a := range n.anyOf {
		n.widen(a)
	}
	n.anyOf, n.enum, n.limits = nil, nil, nil
}

// anything is what a node is written as that says nothing of its type.
var anything = []*schemaNode{{kind: "string"}, {kind: "number"}, {kind: "boolean"}, {kind: "object"}, {kind: "array", items: &schemaNode{kind: "string"}}}

// writeCommon writes a node in the common dialect.
func writeCommon(n *schemaNode) map[string]any {
	typed := *n
	if n.kind == "" && len(n.anyOf) == 0 {
		typed.anyOf = anything
	}
	if n.nullable {
		return nullable(typed)
	}
	out := typed.plain(writeCommon)
	if len(typed.anyOf) == 0 {
		maps.Copy(out, n.limits)
	}
	if n.kind == "object" && n.others != nil {
		out["additionalProperties"] = writeCommon(n.others)
	}
	return out
}

// nullable writes a node that may be null as one of two alternatives.
func nullable(n schemaNode) map[string]any {
	described := n.description
	n.nullable, n.description = false, ""
	alternatives := n.anyOf
	if len(alternatives) == 0 {
		alternatives = []*schemaNode{&n}
	}
	list := make([]any, 0, len(alternatives)+1)
	for _, a := range alternatives {
		list = append(list, writeCommon(a))
	}
	out := map[string]any{"anyOf": append(list, map[string]any{"type": "null"})}
	if described != "" {
		out["description"] = described
	}
	return out
}

// geminiLimits are the limits that Gemini knows, by type.
var geminiLimits = map[string][]string{
	"string":  {"minLength", "maxLength", "pattern"},
	"integer": {"minimum", "maximum"},
	"number":  {"minimum", "maximum"},
	"array":   {"minItems", "maxItems"},
}

// writeGemini writes a node for Gemini: everything has a type, alternatives stand
// alone, and only texts are listed as values.
func writeGemini(n *schemaNode) map[string]any {
	if len(n.anyOf) > 0 {
		return map[string]any{"anyOf": geminiAlternatives(n)}
	}
	typed := *n
	if n.kind == "" {
		typed.kind = "string"
	}
	if typed.kind == "array" && n.items == nil {
		typed.items = &schemaNode{kind: "string"}
	}
	if len(n.enum) > 0 && typed.kind != "string" {
		typed.enum = nil
		typed.description = strings.TrimSpace(n.description + " One of: " + values(n.enum) + ".")
	}
	typed.enum = slices.DeleteFunc(slices.Clone(typed.enum), func(v any) bool { s, ok := v.(string); return !ok || s == "" })
	out := typed.plain(writeGemini)
	if len(typed.properties) == 0 {
		delete(out, "properties") // it refuses an empty list of them
	}
	for _, word := range geminiLimits[typed.kind] {
		if v, ok := n.limits[word]; ok {
			out[word] = v
		}
	}
	if format := n.limits["format"]; typed.kind == "string" && (format == "date-time" || format == "enum") {
		out["format"] = format // it refuses the others
	}
	if n.nullable {
		out["nullable"] = true
	}
	return out
}

// geminiAlternatives are the alternatives of a node, which may have nothing beside
// them: what is said of all is said of each.
func geminiAlternatives(n *schemaNode) []any {
	list := make([]any, 0, len(n.anyOf))
	for _, a := range n.anyOf {
		each := *a
		each.nullable = n.nullable
		if each.description == "" {
			each.description = n.description
		}
		list = append(list, writeGemini(&each))
	}
	return list
}

// values lists values for a text.
func values(list []any) string {
	out := make([]string, len(list))
	for i, v := range list {
		raw, err := marshalPlain(v)
		if err != nil {
			raw = fmt.Append(nil, v)
		}
		out[i] = string(raw)
	}
	return strings.Join(out, ", ")
}
