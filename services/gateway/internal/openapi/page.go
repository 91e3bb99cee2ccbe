package openapi

import (
	"bytes"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"slices"
)

//go:embed page.html.tmpl
var pageTemplate string

// Page lists all routes in one HTML page that needs nothing else.
func (d *Document) Page() ([]byte, error) {
	t, err := template.New("docs").Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("read the page of routes: %w", err)
	}
	type group struct {
		Name string
		Ops  []Operation
	}
	var groups []group
	for _, op := range d.ops {
		i := slices.IndexFunc(groups, func(g group) bool { return g.Name == op.Tag })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{Name: op.Tag})
		}
		groups[i].Ops = append(groups[i].Ops, op)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, groups); err != nil {
		return nil, fmt.Errorf("write the page of routes: %w", err)
	}
	return b.Bytes(), nil
}
