package config

import (
	"bytes"
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Dump writes a configuration struct as YAML in the order of its fields, with
// secrets masked: what is in force, fit to be shown to others.
func Dump(cfg any) string { return DumpOrigins(cfg, nil) }

// DumpOrigins is Dump with the place each value was set (Sources.Origins) as a
// comment behind it; nil origins give no comments.
func DumpOrigins(cfg any, origins map[string]string) string {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(dumper{origins}.node(reflect.ValueOf(cfg), ""))
	if err != nil { // a tree of plain nodes always encodes
		return "# " + err.Error() + "\n"
	}
	return out.String()
}

type dumper struct{ origins map[string]string }

func (d dumper) node(v reflect.Value, path string) *yaml.Node {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return d.scalar(path, "!!null", "null")
		}
		v = v.Elem()
	}
	if n, ok := d.text(v, path); ok {
		return n
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range fields(v.Type()) {
			n.Content = append(n.Content, key(f.name), d.node(v.FieldByIndex(f.index), join(path, f.name)))
		}
	case reflect.Map:
		entries := make(map[string]reflect.Value, v.Len())
		for i := v.MapRange(); i.Next(); {
			entries[i.Key().String()] = i.Value()
		}
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			n.Content = append(n.Content, key(name), d.node(entries[name], join(path, name)))
		}
	case reflect.Slice:
		n.Kind = yaml.SequenceNode
		for i := range v.Len() {
			n.Content = append(n.Content, d.node(v.Index(i), path+"["+strconv.Itoa(i)+"]"))
		}
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle // {} and [] instead of nothing
		d.comment(n, path)
	}
	return n
}

// text makes the node of a scalar.
func (d dumper) text(v reflect.Value, path string) (*yaml.Node, bool) {
	if v.Type() == durationType {
		return d.scalar(path, "!!str", time.Duration(v.Int()).String()), true
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok { // a Secret masks itself here
		text, err := m.MarshalText()
		if err != nil {
			text = []byte(err.Error())
		}
		return d.scalar(path, "!!str", string(text)), true
	}
	switch v.Kind() {
	case reflect.String:
		return d.scalar(path, "!!str", v.String()), true
	case reflect.Bool:
		return d.scalar(path, "!!bool", strconv.FormatBool(v.Bool())), true
	case reflect.Float32, reflect.Float64:
		text := strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
		if !strings.ContainsAny(text, ".eIN") { // YAML would take 1 for an integer, and the encoder says so
			return d.scalar(path, "!!int", text), true
		}
		return d.scalar(path, "!!float", text), true
	}
	if v.CanInt() || v.CanUint() {
		return d.scalar(path, "!!int", fmt.Sprint(v.Interface())), true
	}
	return nil, false
}

func (d dumper) scalar(path, tag, text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
	d.comment(n, path)
	return n
}

func (d dumper) comment(n *yaml.Node, path string) {
	if d.origins == nil {
		return
	}
	n.LineComment = "default"
	if origin, ok := d.origins[path]; ok {
		n.LineComment = origin
	}
}

func key(name string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
}
