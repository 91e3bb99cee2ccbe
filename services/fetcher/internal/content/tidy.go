package content

import (
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
)

// tidy leaves out below the roots what is no part of an article.
func (f *finder) tidy(roots []int32) {
	for _, root := range roots {
		f.markTables(root)
		f.clutter(root, atom.Form, atom.Fieldset)
		f.always(root)
		f.clutter(root, atom.Table, atom.Table)
		f.clutter(root, atom.Ul, atom.Ol)
		f.clutter(root, atom.Div, atom.Div)
	}
}

// always leaves out what never belongs: notes of the site, frames, buttons to
// share the page, headings that are named like something else.
func (f *finder) always(root int32) {
	for i := root + 1; i < f.rows[root].End; i++ {
		r := &f.rows[i]
		switch r.Tag {
		case atom.Footer, atom.Aside, atom.Object, atom.Embed, atom.Iframe:
			f.t.Drop(i)
			continue
		case atom.H1, atom.H2:
			if f.weight(r) < 0 {
				f.t.Drop(i)
				continue
			}
		}
		if r.Hints()&clean.HintShare != 0 && r.Sum.Letters < enough {
			f.t.Drop(i)
		}
	}
}

// clutter leaves out the elements of one or two names that look like
// something beside the article, last first: what is in them is judged before
// they are.
func (f *finder) clutter(root int32, a, b atom.Atom) {
	if !f.strict.conditional {
		return
	}
	for i := f.rows[root].End - 1; i > root; i-- {
		r := &f.rows[i]
		if (r.Tag != a && r.Tag != b) || isPara(r) || f.isOut(i, root) || f.inOrWithData(i, root) {
			continue
		}
		if f.weight(r) < 0 || (r.Sum.Commas < 10 && f.looksCluttered(i, root)) {
			f.t.Drop(i)
		}
	}
}

// isOut says whether a row, or one that holds it, is left out.
func (f *finder) isOut(i, root int32) bool {
	for ; i >= root; i = f.rows[i].Parent {
		if f.rows[i].Is(clean.Out) {
			return true
		}
	}
	return false
}

// inOrWithData says whether a row is, is in or holds a table of data, or is in
// code.
func (f *finder) inOrWithData(i, root int32) bool {
	for p := i; p >= root; p = f.rows[p].Parent {
		if f.rows[p].Is(clean.DataTable) || (p != i && f.rows[p].Tag == atom.Code) {
			return true
		}
	}
	for k := i + 1; k < f.rows[i].End; k++ {
		if f.rows[k].Is(clean.DataTable) && !f.rows[k].Is(clean.Out) {
			return true
		}
	}
	return false
}

// looksCluttered judges by what a row holds.
func (f *finder) looksCluttered(i, root int32) bool {
	r := &f.rows[i]
	m := &r.Sum
	list := r.Tag == atom.Ul || r.Tag == atom.Ol || float64(m.Lists) > 0.9*float64(m.Letters)
	figure := f.inFigure(i, root)
	links, weight := m.LinkDensity(), f.weight(r)
	switch {
	case !figure && m.Imgs > 1 && 2*m.Paras < m.Imgs:
	case !list && m.Items-100 > m.Paras:
	case (r.Tag == atom.Form || r.Tag == atom.Fieldset) && m.Inputs > m.Paras/3:
	case !list && !figure && float64(m.Heads) < 0.9*float64(m.Letters) && m.Letters < 25 && (m.Imgs == 0 || m.Imgs > 2) && links > 0:
	case !list && weight < 25 && links > 0.2:
	case weight >= 25 && links > 0.5:
	case (m.Embeds == 1 && m.Letters < 75) || m.Embeds > 1:
	case m.Imgs == 0 && m.Set == 0:
	default:
		return false
	}
	return !list || !f.isGallery(i)
}

func (f *finder) inFigure(i, root int32) bool {
	for p := f.rows[i].Parent; p > root; p = f.rows[p].Parent {
		if f.rows[p].Tag == atom.Figure {
			return true
		}
	}
	return false
}

// isGallery tells a list of nothing but images.
func (f *finder) isGallery(i int32) bool {
	m := &f.rows[i].Sum
	if m.Imgs == 0 || m.Imgs != m.Items {
		return false
	}
	for k := i + 1; k < f.rows[i].End; k = f.rows[k].End {
		kids := 0
		for c := k + 1; c < f.rows[k].End; c = f.rows[c].End {
			kids++
		}
		if kids > 1 {
			return false
		}
	}
	return true
}
