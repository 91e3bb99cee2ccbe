package openapi

import (
	"bytes"
	_ "embed" // for what the gateway adds
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// additions are the parts of the document that no contract has.
//
//go:embed additions.yaml
var additions []byte

// Rules say how the gateway answers.
type Rules struct {
	// Version of the product.
	Version string
	// Bare says that the answer of a route has no envelope.
	Bare func(path string) bool
}

// Document is the OpenAPI document of the gateway.
type Document struct {
	yaml []byte
	ops  []Operation
}

// Operation is one route.
type Operation struct {
	Method, Path string
	Summary      string
	Tag          string
	// Streams says that the answer is text/event-stream.
	Streams bool
}

// YAML is the document as it is served.
func (d *Document) YAML() []byte { return d.yaml }

// Operations are all routes, by path and method.
func (d *Document) Operations() []Operation { return d.ops }

// New makes the document from the generated one.
func New(generated string, rules Rules) (*Document, error) {
	var root, add yaml.Node
	if err := yaml.Unmarshal([]byte(generated), &root); err != nil {
		return nil, fmt.Errorf("read the generated OpenAPI document: %w", err)
	}
	if err := yaml.Unmarshal(additions, &add); err != nil {
		return nil, fmt.Errorf("read additions.yaml: %w", err)
	}
	if root.Kind != yaml.DocumentNode || add.Kind != yaml.DocumentNode {
		return nil, fmt.Errorf("read the generated OpenAPI document: it is empty")
	}
	spec, more := root.Content[0], add.Content[0]
	d := &Document{}
	for path, item := range pairs(get(spec, "paths")) {
		for method, op := range pairs(item) {
			d.ops = append(d.ops, dress(op, strings.ToUpper(method), path, rules.Bare(path)))
		}
	}
	for path, item := range pairs(get(more, "paths")) {
		for method, op := range pairs(item) {
			d.ops = append(d.ops, describe(op, strings.ToUpper(method), path))
		}
	}
	slices.SortFunc(d.ops, func(a, b Operation) int {
		return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
	})
	merge(spec, more)
	if err := d.finish(spec, rules.Version); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Document) finish(spec *yaml.Node, version string) error {
	if version != "" {
		set(get(spec, "info"), "version", text(version))
	}
	dropUnusedTags(spec, d.ops)
	drop(get(spec, "definitions"), "rpcStatus", "protobufAny")
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(spec); err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	if err := enc.Close(); err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	d.yaml = b.Bytes()
	return nil
}

// dress gives one operation the answers that it really has.
func dress(op *yaml.Node, method, path string, bare bool) Operation {
	for _, key := range []string{"summary", "description"} {
		if n := get(op, key); n != nil {
			n.SetString(withoutLintNotes(n.Value))
		}
	}
	responses := get(op, "responses")
	set(responses, "default", ref("description", "What went wrong.", "#/definitions/Error"))
	ok := get(responses, "200")
	schema := get(ok, "schema")
	streams := get(get(schema, "properties"), "result") != nil
	switch {
	case streams:
		set(ok, "description", text("Events; each is a member of the schema's oneof, named by it."))
		set(ok, "schema", get(get(schema, "properties"), "result"))
		set(op, "produces", list("text/event-stream"))
	case !bare && schema != nil:
		set(ok, "schema", enveloped(schema))
	}
	o := describe(op, method, path)
	o.Streams = streams
	return o
}

func describe(op *yaml.Node, method, path string) Operation {
	o := Operation{Method: method, Path: path}
	if n := get(op, "summary"); n != nil {
		o.Summary = strings.Join(strings.Fields(n.Value), " ")
	}
	if tags := get(op, "tags"); tags != nil && len(tags.Content) > 0 {
		o.Tag = tags.Content[0].Value
	}
	return o
}

// withoutLintNotes drops the lines of a comment that talk to buf.
func withoutLintNotes(s string) string {
	lines := slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool {
		return strings.HasPrefix(strings.TrimSpace(l), "buf:lint:")
	})
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func enveloped(schema *yaml.Node) *yaml.Node {
	n := mapping("type", text("object"), "required", list("code", "data"))
	set(n, "properties", mapping(
		"code", mapping("type", text("integer"), "enum", &yaml.Node{
			Kind: yaml.SequenceNode, Style: yaml.FlowStyle,
			Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!int", Value: "0"}},
		}),
		"data", schema,
	))
	return n
}

func dropUnusedTags(spec *yaml.Node, ops []Operation) {
	tags := get(spec, "tags")
	if tags == nil {
		return
	}
	tags.Content = slices.DeleteFunc(tags.Content, func(t *yaml.Node) bool {
		name := get(t, "name")
		return name == nil || !slices.ContainsFunc(ops, func(o Operation) bool { return o.Tag == name.Value })
	})
}
