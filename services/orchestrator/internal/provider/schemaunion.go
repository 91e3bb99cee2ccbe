package provider

import "maps"

// alternatives reads anyOf and oneOf. Members of objects that every alternative
// only adds to become members that may be left out.
func (r *schemaReader) alternatives(n *schemaNode, m map[string]any, depth int) {
	for _, word := range []string{"anyOf", "oneOf"} {
		list, _ := m[word].([]any)
		for _, v := range list {
			if isNull(v) {
				n.nullable = true
				continue
			}
			a := r.node(v, depth+1)
			if n.properties != nil {
				n.widen(a)
				continue
			}
			n.nullable = n.nullable || a.nullable
			a.nullable = false
			if len(a.anyOf) > 0 { // alternatives of alternatives
				n.anyOf = append(n.anyOf, a.anyOf...)
				continue
			}
			if a.kind == "" {
				a.kind = n.kind
			}
			n.anyOf = append(n.anyOf, a)
		}
	}
}

// isNull reports whether a schema allows null alone.
func isNull(v any) bool {
	m, _ := v.(map[string]any)
	value, isConst := m["const"]
	return m["type"] == "null" || isConst && value == nil
}

// widen adds the members of an alternative to an object.
func (n *schemaNode) widen(a *schemaNode) {
	for name, p := range a.properties {
		if n.properties[name] == nil {
			n.properties[name] = p
		}
	}
	for _, b := range a.anyOf {
		n.widen(b)
	}
}

// tidy brings the alternatives of a node into their shortest form: values of one
// type are one enum, and a single alternative is the node itself.
func (n *schemaNode) tidy() {
	if len(n.anyOf) == 0 {
		return
	}
	kind, values := n.anyOf[0].kind, []any(nil)
	for _, a := range n.anyOf {
		if len(a.enum) == 0 || a.kind != kind {
			values = nil
			break
		}
		values = append(values, a.enum...)
	}
	switch {
	case values != nil:
		n.kind, n.enum, n.anyOf = kind, values, nil
	case len(n.anyOf) == 1:
		only := *n.anyOf[0]
		if n.description != "" {
			only.description = n.description
		}
		only.nullable = n.nullable
		if only.limits == nil {
			only.limits = map[string]any{}
		}
		maps.Copy(only.limits, n.limits)
		*n = only
	}
}

// split makes a node of several types one of several alternatives, each with the
// keywords that are about it.
func (n *schemaNode) split(kinds []string) *schemaNode {
	out := &schemaNode{description: n.description, nullable: n.nullable}
	for _, k := range kinds {
		a := &schemaNode{kind: k, limits: n.limits}
		switch k {
		case "object":
			a.properties, a.required, a.others = n.properties, n.required, n.others
		case "array":
			a.items = n.items
		}
		for _, v := range n.enum {
			if got := typeOf(v); got == k || got == "integer" && k == "number" {
				a.enum = append(a.enum, v)
			}
		}
		out.anyOf = append(out.anyOf, a)
	}
	return out
}
