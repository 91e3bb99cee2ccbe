package provider

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// Bounds of a schema that is rewritten. What lies beyond them may be anything:
// the tool's own schema, whole, decides about every call in any case.
const (
	maxSchemaDepth = 24    // levels, references followed included
	maxSchemaNodes = 5_000 // of the outcome
)

// schemaNode is a JSON Schema in one plain form, whatever way it was written:
// references are inlined, allOf is merged, const is an enum, a type is one word.
// Type arrays, oneOf and anyOf are one list of alternatives, and null among them
// is a flag.
type schemaNode struct {
	kind        string // "" says nothing of the type
	nullable    bool
	description string
	enum        []any
	anyOf       []*schemaNode
	properties  map[string]*schemaNode
	required    []string
	others      *schemaNode // of an object's members that have no name of their own; nil: nothing is said
	items       *schemaNode
	limits      map[string]any // keywords of one value: minimum, maxLength, pattern, format and the like
}

// limitWords are the keywords that are kept as they are.
var limitWords = []string{
	"format", "pattern", "minLength", "maxLength", "minimum", "maximum", "multipleOf",
	"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
}

// readSchema reads a schema; nil when raw is not a JSON object.
func readSchema(raw json.RawMessage) *schemaNode {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var root map[string]any
	if dec.Decode(&root) != nil || root == nil {
		return nil
	}
	r := schemaReader{root: root, left: maxSchemaNodes}
	return r.node(root, 0)
}

// schemaReader reads the nodes of one schema.
type schemaReader struct {
	root map[string]any
	left int // nodes that may still be read
}

// node reads a schema. Where it is no object (true, or nonsense), or too deep,
// anything goes.
func (r *schemaReader) node(v any, depth int) *schemaNode {
	n := &schemaNode{}
	m, ok := v.(map[string]any)
	if r.left--; !ok || r.left < 0 || depth > maxSchemaDepth {
		return n
	}
	m = r.flat(m, depth)
	n.description, _ = m["description"].(string)
	n.enum, n.nullable = enumOf(m)
	kinds := kindsOf(m, n)
	n.limits = limitsOf(m, slices.Equal(kinds, []string{"integer"}))
	r.object(n, m, depth)
	r.array(n, m, depth)
	switch len(kinds) {
	case 0:
		n.kind = guessKind(n)
	case 1:
		n.kind = kinds[0]
	default:
		return n.split(kinds)
	}
	r.alternatives(n, m, depth)
	n.tidy()
	return n
}

// flat follows the reference of a schema and merges its allOf. What stands beside
// them wins.
func (r *schemaReader) flat(m map[string]any, depth int) map[string]any {
	ref, isRef := m["$ref"].(string)
	all, _ := m["allOf"].([]any)
	if !isRef && len(all) == 0 {
		return m
	}
	out := maps.Clone(m)
	delete(out, "$ref")
	delete(out, "allOf")
	if isRef {
		all = append([]any{r.target(ref)}, all...)
	}
	for _, part := range all {
		if r.left--; r.left < 0 || depth >= maxSchemaDepth {
			return out
		}
		if p, ok := part.(map[string]any); ok {
			mergeSchema(out, r.flat(p, depth+1))
		}
	}
	return out
}

// target is what a reference inside the schema points to; nil for any other.
func (r *schemaReader) target(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = r.root
	for _, step := range strings.Split(strings.Trim(path, "/"), "/") {
		if step == "" {
			continue
		}
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}

// mergeSchema adds what part demands to m: properties and required names are
// joined, of everything else the first counts.
func mergeSchema(m, part map[string]any) {
	for word, value := range part {
		have, taken := m[word]
		switch {
		case !taken:
			m[word] = value
		case word == "properties":
			into, _ := have.(map[string]any)
			from, _ := value.(map[string]any)
			joined := maps.Clone(from)
			if joined == nil {
				joined = map[string]any{}
			}
			maps.Copy(joined, into)
			m[word] = joined
		case word == "required":
			into, _ := have.([]any)
			from, _ := value.([]any)
			m[word] = append(slices.Clone(into), from...)
		}
	}
}

// limitsOf are the limits of one value. A limit that excludes itself becomes one
// that does not: the next whole number for integers, the same for others.
func limitsOf(m map[string]any, integer bool) map[string]any {
	out := map[string]any{}
	for _, word := range limitWords {
		if v, ok := m[word]; ok {
			out[word] = v
		}
	}
	exclude := func(word, plain string, step int64) {
		v := m[word]
		if v == true { // as draft 4 writes it
			v = m[plain]
		}
		limit, ok := v.(json.Number)
		if !ok {
			return
		}
		if n, isInt := new(big.Int).SetString(limit.String(), 10); integer && isInt {
			limit = json.Number(n.Add(n, big.NewInt(step)).String())
		}
		out[plain] = limit
	}
	exclude("exclusiveMinimum", "minimum", 1)
	exclude("exclusiveMaximum", "maximum", -1)
	return out
}

// enumOf are the values that a schema allows, null apart.
func enumOf(m map[string]any) (values []any, nullable bool) {
	list, _ := m["enum"].([]any)
	if v, ok := m["const"]; ok {
		list = []any{v}
	}
	for _, v := range list {
		if v == nil {
			nullable = true
			continue
		}
		values = append(values, v)
	}
	if open, _ := m["nullable"].(bool); open { // as OpenAPI writes it
		nullable = true
	}
	return values, nullable
}

// schemaTypes are the types that there are, null apart.
var schemaTypes = []string{"string", "integer", "number", "boolean", "array", "object"}

// kindsOf are the types of a schema, null apart, which becomes n's flag. A word
// that is no type says nothing.
func kindsOf(m map[string]any, n *schemaNode) (kinds []string) {
	var list []any
	switch t := m["type"].(type) {
	case string:
		list = []any{t}
	case []any:
		list = t
	}
	for _, k := range list {
		switch word, _ := k.(string); {
		case word == "null":
			n.nullable = true
		case slices.Contains(schemaTypes, word) && !slices.Contains(kinds, word):
			kinds = append(kinds, word)
		}
	}
	return kinds
}

// guessKind is the type of a schema that names none but can only be meant for one.
func guessKind(n *schemaNode) string {
	switch {
	case n.properties != nil:
		return "object"
	case n.items != nil:
		return "array"
	}
	kind := ""
	for _, v := range n.enum {
		k := typeOf(v)
		if kind != "" && k != kind {
			return ""
		}
		kind = k
	}
	return kind
}

// typeOf is the JSON Schema type of a value.
func typeOf(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	}
	return "object"
}

func (r *schemaReader) object(n *schemaNode, m map[string]any, depth int) {
	members, ok := m["properties"].(map[string]any)
	if ok {
		n.properties = make(map[string]*schemaNode, len(members))
	}
	// In order, so that the same members are lost of a schema that is too large.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		n.properties[name] = r.node(members[name], depth+1)
	}
	list, _ := m["required"].([]any)
	for _, v := range list {
		if name, _ := v.(string); n.properties[name] != nil && !slices.Contains(n.required, name) {
			n.required = append(n.required, name)
		}
	}
	if others, ok := m["additionalProperties"].(map[string]any); ok {
		n.others = r.node(others, depth+1)
	}
}

// array reads the items of a list. A list with a schema for each place becomes one
// whose items are any of them.
func (r *schemaReader) array(n *schemaNode, m map[string]any, depth int) {
	places, ok := m["prefixItems"].([]any)
	if !ok {
		places, ok = m["items"].([]any)
	}
	switch one, isOne := m["items"].(map[string]any); {
	case ok && len(places) > 0:
		n.items = r.node(map[string]any{"anyOf": places}, depth+1)
	case isOne:
		n.items = r.node(one, depth+1)
	}
}
