package content

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
)

const (
	candidates = 5    // how many of the best rows are compared
	nearly     = 0.75 // share of the best score that makes a rival
	rivals     = 3    // how many rivals below one parent make that the best
)

// choose gives the row that is worth most, with its siblings that look like
// more of it; the body when none is worth anything.
func (f *finder) choose() []int32 {
	top := f.top()
	if len(top) == 0 {
		return []int32{0}
	}
	return f.siblings(f.climb(f.common(top)))
}

// top gives the best rows, best first.
func (f *finder) top() []int32 {
	top := make([]int32, 0, candidates+1)
	for i := range f.rows {
		r := &f.rows[i]
		if !r.Scored {
			continue
		}
		r.Score *= float32(1 - r.Sum.LinkDensity())
		at := len(top)
		for at > 0 && r.Score > f.rows[top[at-1]].Score {
			at--
		}
		if at < candidates {
			top = slices.Insert(top, at, int32(i))
			top = top[:min(len(top), candidates)]
		}
	}
	return top
}

// common moves from the best row to the nearest parent that it shares with
// enough rivals.
func (f *finder) common(top []int32) int32 {
	best := top[0]
	var close []int32
	for _, o := range top[1:] {
		if f.rows[o].Score >= nearly*f.rows[best].Score {
			close = append(close, o)
		}
	}
	if len(close) < rivals {
		return best
	}
	for p := f.rows[best].Parent; p > 0; p = f.rows[p].Parent {
		in := 0
		for _, o := range close {
			if o > p && o < f.rows[p].End {
				in++
			}
		}
		if in >= rivals {
			return p
		}
	}
	return best
}

// climb moves up when a parent is worth more, or holds nothing else.
func (f *finder) climb(best int32) int32 {
	f.begin(&f.rows[best])
	last := f.rows[best].Score
	limit := last / 3
	for p := f.rows[best].Parent; p > 0; p = f.rows[p].Parent {
		if !f.rows[p].Scored {
			continue
		}
		s := f.rows[p].Score
		if s < limit {
			break
		}
		if s > last {
			best = p
			break
		}
		last = s
	}
	for p := f.rows[best].Parent; p > 0 && f.onlyChild(p); p = f.rows[p].Parent {
		best = p
	}
	return best
}

func (f *finder) onlyChild(p int32) bool {
	n := 0
	for k := p + 1; k < f.rows[p].End && n < 2; k = f.rows[k].End {
		switch f.rows[k].Tag {
		case atom.Script, atom.Style, atom.Noscript:
			continue
		}
		if !f.rows[k].Is(clean.Out) {
			n++
		}
	}
	return n == 1
}

// siblings adds what stands beside the best row and looks like more of it.
func (f *finder) siblings(best int32) []int32 {
	b := &f.rows[best]
	if b.Parent < 0 {
		return []int32{best}
	}
	limit := max(10, b.Score*0.2)
	var out []int32
	for k := b.Parent + 1; k < f.rows[b.Parent].End; k = f.rows[k].End {
		r := &f.rows[k]
		if r.Is(clean.Gone) {
			continue
		}
		var bonus float32
		if r.Class != 0 && r.Sig == b.Sig {
			bonus = b.Score * 0.2
		}
		if k == best || (r.Scored && r.Score+bonus >= limit) || f.isMoreText(r) {
			out = append(out, k)
		}
	}
	return out
}

// isMoreText tells paragraphs that may stand beside an article.
func (f *finder) isMoreText(r *clean.Row) bool {
	if r.Tag != atom.P && !isPara(r) {
		return false
	}
	n, d := r.Sum.Letters, r.Sum.LinkDensity()
	if n > 80 {
		return d < 0.25
	}
	return n > 0 && n < 80 && d == 0 && endsSentence(r)
}

// endsSentence tells a row that has the end of a sentence in it.
func endsSentence(r *clean.Row) bool {
	for n := r.Node; n != nil; n = n.NextSibling {
		if n.Type == html.TextNode && hasStop(n.Data) {
			return true
		}
		for d := range n.Descendants() {
			if d.Type == html.TextNode && hasStop(d.Data) {
				return true
			}
		}
		if next := n.NextSibling; !r.Is(clean.Run) || (next != nil && next.Type == html.ElementNode && !clean.IsPhrasing(next)) {
			break
		}
	}
	return false
}

func hasStop(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasSuffix(s, ".") || strings.Contains(s, ". ") || strings.Contains(s, "。")
}
