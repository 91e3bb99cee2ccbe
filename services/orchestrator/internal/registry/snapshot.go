package registry

import (
	"slices"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/spelling"
)

const (
	// maxNear is how many names are proposed for one that nobody knows.
	maxNear = 3
	// maxSlip bounds the names that can be taken for a slip of another.
	maxSlip = 256
	// minPart is how short a part of a name still points to the whole.
	minPart = 4
)

// Snapshot is the registered tools at one moment. It never changes.
type Snapshot struct {
	byName map[string]*Tool
	all    []*Tool
}

// Get is the tool with the name, or nil. Names are compared letter by letter.
func (s *Snapshot) Get(name string) *Tool { return s.byName[name] }

// All are the tools by name.
func (s *Snapshot) All() []*Tool { return s.all }

// EnabledNames are the names of the tools that may be called, in order.
func (s *Snapshot) EnabledNames() []string {
	var names []string
	for _, t := range s.all {
		if t.Enabled {
			names = append(names, t.Name)
		}
	}
	return names
}

// Near are the names of enabled tools that may be meant by a name that no tool
// has, the nearest first: models leave out or add words ("search",
// "functions.web_search"), write other separators, and mistype.
func (s *Snapshot) Near(name string) []string {
	type candidate struct {
		name string
		off  int
	}
	want := plain(name)
	if want == "" || len(want) > maxSlip {
		return nil
	}
	var near []candidate
	for _, n := range s.EnabledNames() {
		have := plain(n)
		off := spelling.Distance(want, have)
		within := len(want) >= minPart && strings.Contains(have, want) || len(have) >= minPart && strings.Contains(want, have)
		if within || off <= max(1, len(have)/4) {
			near = append(near, candidate{n, off})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.off - b.off })
	var names []string
	for _, c := range near[:min(len(near), maxNear)] {
		names = append(names, c.name)
	}
	return names
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", ":", "", "/", "", " ", "")

// plain is a name without what models get wrong most.
func plain(name string) string { return separators.Replace(strings.ToLower(name)) }
