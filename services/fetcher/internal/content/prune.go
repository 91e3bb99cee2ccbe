package content

import (
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
)

// cuts are the blocks within a content that are left out. A share is that of
// the content's letters up to which a block is left out for its name: a
// larger one is the content itself, whatever it is called.
type cuts struct {
	hints []hintCut
	// unlikely is the share for what is seldom content, forms that for forms.
	unlikely, forms float64
	// captions to pictures of so many letters are left out, unless all of
	// them together are more than a share of the content.
	caption       int32
	captionsShare float64
	// frames says whether nav elements and dates that stand alone are left
	// out, and lines of links at the end.
	frames bool
	// repeats is how many letters a line has at least that is left out because
	// one before says the same: pages have some blocks again for smaller
	// screens. 0 keeps all.
	repeats int32
}

type hintCut struct {
	hint  clean.Hint
	share float64
}

var articleCuts = cuts{
	hints: []hintCut{
		{clean.HintRelated, 0.3}, {clean.HintByline, 0.1}, {clean.HintCrumb, 0.3}, {clean.HintScreenReader, 0.3},
		{clean.HintTags, 0.2}, {clean.HintAd, 0.2}, {clean.HintForm, 0.2}, {clean.HintAuthorBox, 0.2},
	},
	caption: 250, captionsShare: 0.15,
	frames: true,
}

var wholeCuts = cuts{
	hints: []hintCut{
		{clean.HintRelated, 0.3}, {clean.HintNav, 0.2}, {clean.HintTags, 0.2}, {clean.HintAd, 0.2},
		{clean.HintAuthorBox, 0.2}, {clean.HintByline, 0.2}, {clean.HintOverlay, 0.3}, {clean.HintFilter, 0.3},
	},
	unlikely: 0.1, forms: 0.1,
	caption: 300, captionsShare: 0.1,
	repeats: 20,
}

// prune leaves out blocks below the roots.
func (f *finder) prune(roots []int32, c *cuts) {
	total := float64(f.letters(roots))
	captions := f.captions(roots, c.caption) <= c.captionsShare*total
	for _, root := range roots {
		for i := root + 1; i < f.rows[root].End; i++ {
			r := &f.rows[i]
			if !r.Is(clean.Gone) {
				if !c.names(r, total) && !(captions && isCaption(r, c.caption)) && !(c.frames && f.isFrame(r)) {
					continue
				}
				f.t.Drop(i)
			}
			i = r.End - 1
		}
	}
	if c.frames {
		f.trimEnd(roots)
	}
	if c.repeats > 0 {
		f.leaveOutRepeats(roots, c.repeats)
	}
}

// names says whether a row is left out for its name, or that of its class or id.
func (c *cuts) names(r *clean.Row, total float64) bool {
	h := r.Hints()
	share := float64(r.Sum.Letters) / max(total, 1)
	if r.Tag == atom.Form && share < c.forms {
		return true
	}
	if h == 0 {
		return false
	}
	for _, cut := range c.hints {
		if h&cut.hint != 0 && share <= cut.share {
			return true
		}
	}
	return share <= c.unlikely && h&clean.HintUnlikely != 0
}

func isCaption(r *clean.Row, limit int32) bool {
	return r.Sum.Letters <= limit && (r.Tag == atom.Figcaption || r.Hints()&clean.HintCaption != 0)
}

// captions adds up the letters in captions.
func (f *finder) captions(roots []int32, limit int32) float64 {
	var n int32
	for _, root := range roots {
		for i := root + 1; i < f.rows[root].End; i++ {
			r := &f.rows[i]
			if r.Is(clean.Gone) || isCaption(r, limit) {
				if !r.Is(clean.Gone) {
					n += r.Sum.Letters
				}
				i = r.End - 1
			}
		}
	}
	return float64(n)
}

// aloneMax is how many other letters the block of a date has at most that is
// no part of a sentence.
const aloneMax = 40

// isFrame tells navigation, and dates that stand alone.
func (f *finder) isFrame(r *clean.Row) bool {
	switch r.Tag {
	case atom.Nav:
		return true
	case atom.Time:
		p := r.Parent
		for p > 0 && !f.rows[p].Is(clean.Block|clean.Run) {
			p = f.rows[p].Parent
		}
		return f.rows[p].Sum.Letters-r.Sum.Letters <= aloneMax
	}
	return false
}

const (
	trimLetters = 25  // letters of a line that ends the trimming
	trimLinks   = 0.3 // share of links that such a line has less than
	trimPlain   = 60  // or letters outside links that it has
	trimMost    = 20  // lines that are trimmed at most
)

// trimEnd leaves out short lines and lines of links after the last line of
// text.
func (f *finder) trimEnd(roots []int32) {
	var lines []int32
	for j := len(roots) - 1; j >= 0; j-- {
		root := roots[j]
		for i := f.rows[root].End - 1; i > root; i-- {
			r := &f.rows[i]
			if r.Is(clean.Gone) || r.Sum.Letters == 0 || !f.isLine(i) || f.isOut(i, root) {
				continue
			}
			if isText(r) {
				for _, l := range lines {
					f.t.Drop(l)
				}
				return
			}
			if lines = append(lines, i); len(lines) > trimMost {
				return
			}
		}
	}
}

// isText tells a line that an article may end with: a sentence, a cell of a
// table, code, an item of a list that is no link.
func isText(r *clean.Row) bool {
	plain, few := r.Sum.Letters-r.Sum.Links, r.Sum.LinkDensity() < trimLinks
	switch {
	case r.Is(clean.InTable | clean.InCode), r.Tag == atom.Pre:
		return true
	case r.Tag == atom.Li:
		return few
	case plain < trimLetters:
		return false
	}
	return few || plain >= trimPlain || endsSentence(r)
}

// isLine tells a block without blocks in it.
func (f *finder) isLine(i int32) bool {
	r := &f.rows[i]
	if r.Is(clean.Run) {
		return true
	}
	if !r.Is(clean.Block) {
		return false
	}
	for k := i + 1; k < r.End; k++ {
		if f.rows[k].Is(clean.Block | clean.Run) {
			return false
		}
	}
	return true
}
