package content

import (
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
)

// mainShare is the share of the page's letters that a main landmark needs.
const mainShare = 0.3

// whole gives the main landmark or the body, less what frames the site.
func (f *finder) whole() []int32 {
	f.t.Restore()
	for i := int32(1); i < int32(len(f.rows)); i++ {
		if r := &f.rows[i]; f.isSite(i) {
			r.Flags |= clean.Out
			i = r.End - 1
		}
	}
	f.t.Measure()
	roots := []int32{f.landmark()}
	f.prune(roots, &wholeCuts)
	return roots
}

// isSite tells what belongs to the site rather than to the page.
func (f *finder) isSite(i int32) bool {
	r := &f.rows[i]
	if r.Is(clean.Frame) || r.Hints()&(clean.HintScreenReader|clean.HintCrumb) != 0 {
		return true
	}
	return r.Tag == atom.Header && !f.inContent(i)
}

// inContent says whether a row is in a main or article element.
func (f *finder) inContent(i int32) bool {
	for p := f.rows[i].Parent; p >= 0; p = f.rows[p].Parent {
		if a := f.rows[p].Tag; a == atom.Main || a == atom.Article {
			return true
		}
	}
	return false
}

// landmark is the first main landmark that holds enough of the page, or the
// body.
func (f *finder) landmark() int32 {
	for i := int32(1); i < int32(len(f.rows)); i++ {
		r := &f.rows[i]
		if r.Is(clean.Gone) {
			i = r.End - 1
			continue
		}
		if r.Is(clean.Main) && float64(r.Sum.Letters) >= mainShare*float64(f.rows[0].Sum.Letters) {
			return i
		}
	}
	return 0
}
