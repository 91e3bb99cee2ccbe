package provider

import "encoding/json"

// SimplifySchema is the schema of a tool cut down to what a model needs to make a
// valid call, for one that did not manage with the whole: required members alone,
// references inlined, allowed values listed in place, and no keyword but type,
// description, enum, anyOf, properties, required and items. A call that fits it
// may still be refused by a limit that it leaves out. What is not a JSON object is
// returned as it is.
func SimplifySchema(full json.RawMessage) json.RawMessage {
	n := readSchema(full)
	if n == nil {
		return full
	}
	if n.kind == "" {
		n.kind = "object" // what arguments are
	}
	return encodeSchema(simple(n), full)
}

func simple(n *schemaNode) map[string]any {
	needed := *n
	if n.properties != nil {
		needed.properties = make(map[string]*schemaNode, len(n.required))
		for _, name := range n.required {
			needed.properties[name] = n.properties[name]
		}
	}
	return needed.plain(simple)
}

// plain are the keywords of a node that every dialect has, with the nodes below in
// the dialect of sub.
func (n *schemaNode) plain(sub func(*schemaNode) map[string]any) map[string]any {
	out := map[string]any{}
	if n.kind != "" {
		out["type"] = n.kind
	}
	if n.description != "" {
		out["description"] = n.description
	}
	if len(n.enum) > 0 {
		out["enum"] = n.enum
	}
	if len(n.anyOf) > 0 {
		list := make([]any, len(n.anyOf))
		for i, a := range n.anyOf {
			list[i] = sub(a)
		}
		out["anyOf"] = list
		delete(out, "type") // each alternative has its own
	}
	if n.kind == "object" && n.properties != nil {
		members := make(map[string]any, len(n.properties))
		for name, p := range n.properties {
			members[name] = sub(p)
		}
		out["properties"] = members
		if len(n.required) > 0 {
			out["required"] = n.required
		}
	}
	if n.kind == "array" && n.items != nil {
		out["items"] = sub(n.items)
	}
	return out
}

// encodeSchema writes a schema; the one that it was made from where that fails,
// which it does not for what was read from JSON.
func encodeSchema(s map[string]any, from json.RawMessage) json.RawMessage {
	raw, err := marshalPlain(s)
	if err != nil {
		return from
	}
	return raw
}
