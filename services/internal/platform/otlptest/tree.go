package otlptest

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
)

// Tree draws one trace: a line "service | span" for each span, children two
// spaces further in than their parent, siblings in the order of their starts.
// A span whose parent did not arrive stands at the top, marked "(parent
// missing)": a broken chain shows.
func (c *Collector) Tree(traceID string) string {
	spans := c.Spans()
	known := make(map[string]bool)
	children := make(map[string][]Span)
	var tops []Span
	for _, s := range spans {
		if s.TraceID == traceID {
			known[s.SpanID] = true
		}
	}
	for _, s := range spans {
		switch {
		case s.TraceID != traceID:
		case known[s.ParentID]:
			children[s.ParentID] = append(children[s.ParentID], s)
		default:
			tops = append(tops, s)
		}
	}
	var b strings.Builder
	var draw func(s Span, depth int)
	draw = func(s Span, depth int) {
		fmt.Fprintf(&b, "%s%s | %s", strings.Repeat("  ", depth), s.Service, s.Name)
		if depth == 0 && s.ParentID != "" {
			b.WriteString(" (parent missing)")
		}
		b.WriteByte('\n')
		for _, child := range children[s.SpanID] {
			draw(child, depth+1)
		}
	}
	for _, s := range tops {
		draw(s, 0)
	}
	return b.String()
}

// RequireTree ends the test unless the trace looks like want, which may be
// indented as a whole and begin and end with blank lines.
func (c *Collector) RequireTree(t testing.TB, traceID, want string) {
	t.Helper()
	got := c.Tree(traceID)
	if want = dedent(want); got != want {
		t.Fatalf("trace %s is\n%s\nwant\n%s", traceID, got, want)
	}
}

// dedent takes away blank lines around a text and the indentation, tabs, of its
// first line from every line.
func dedent(s string) string {
	s = strings.Trim(s, "\n\t")
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.TrimLeft(line, "\t"), " \t")
	}
	return strings.Join(lines, "\n") + "\n"
}

// byStart orders parents before children that start in the same nanosecond.
func byStart(a, b Span) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.Name, b.Name))
}
