package content

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
)

// maxCompared is how many bytes of a line are compared with others.
const maxCompared = 400

// leaveOutRepeats leaves out lines of at least so many letters that say what a
// line before them says. Tables and code keep theirs.
func (f *finder) leaveOutRepeats(roots []int32, letters int32) {
	seen := map[string]bool{}
	for _, root := range roots {
		for i := root + 1; i < f.rows[root].End; i++ {
			r := &f.rows[i]
			if r.Is(clean.Gone) {
				i = r.End - 1
				continue
			}
			if !f.isWholeLine(i) {
				continue
			}
			if r.Sum.Letters >= letters && !r.Is(clean.InTable|clean.InCode) && r.Tag != atom.Pre {
				line := strings.Join(strings.Fields(PlainText(r.Node, maxCompared)), " ")
				if seen[line] && len(line) <= maxCompared {
					f.t.Drop(i)
				}
				seen[line] = true
			}
			i = r.End - 1
		}
	}
}

// isWholeLine tells an element that is one line.
func (f *finder) isWholeLine(i int32) bool {
	r := &f.rows[i]
	return r.Is(clean.Para) || (!r.Is(clean.Run) && f.isLine(i))
}
