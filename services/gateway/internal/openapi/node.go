package openapi

import (
	"iter"
	"slices"

	"go.yaml.in/yaml/v3"
)

// The functions here read and change mappings of a YAML tree; a nil node is an
// empty mapping to those that read.

func pairs(m *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if m == nil || m.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if !yield(m.Content[i].Value, m.Content[i+1]) {
				return
			}
		}
	}
}

func get(m *yaml.Node, key string) *yaml.Node {
	for k, v := range pairs(m) {
		if k == key {
			return v
		}
	}
	return nil
}

func set(m *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content[i+1] = value
			return
		}
	}
	m.Content = append(m.Content, text(key), value)
}

func drop(m *yaml.Node, keys ...string) {
	if m == nil {
		return
	}
	for i := 0; i+1 < len(m.Content); {
		if slices.Contains(keys, m.Content[i].Value) {
			m.Content = slices.Delete(m.Content, i, i+2)
			continue
		}
		i += 2
	}
}

// merge puts the mappings of from into those of into, key by key; anything but a
// mapping replaces what was there.
func merge(into, from *yaml.Node) {
	for key, value := range pairs(from) {
		if have := get(into, key); have != nil && have.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode {
			merge(have, value)
			continue
		}
		set(into, key, value)
	}
}

func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

func list(items ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for _, s := range items {
		n.Content = append(n.Content, text(s))
	}
	return n
}

// mapping of keys and nodes, taken in turn.
func mapping(kv ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(kv); i += 2 {
		n.Content = append(n.Content, text(kv[i].(string)), kv[i+1].(*yaml.Node))
	}
	return n
}

// ref is a response with a description and a schema from the definitions.
func ref(key, words, definition string) *yaml.Node {
	return mapping(key, text(words), "schema", mapping("$ref", text(definition)))
}
