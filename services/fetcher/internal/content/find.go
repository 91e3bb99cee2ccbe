package content

import (
	"golang.org/x/net/html"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
)

// Content is the part of a page that its readers came for.
type Content struct {
	// Root holds the content.
	Root *html.Node
	// Type is what the page is taken for.
	Type Type
	// Confidence, from 0 to 1, is how likely this is the content, as far as the
	// figures of the page tell.
	Confidence float64
	// Letters is how long the text is; 0 for a Whole page.
	Letters int
	// Hidden counts the letters that are left out because no reader sees them.
	Hidden int
	// Revealed says that what is read was hidden: it was nearly all of the page.
	Revealed bool
	all      bool // nothing but hidden elements is left out
	skip     map[*html.Node]struct{}
}

// IsWhole says that the content is all of the page, because none could be told
// from its frame.
func (c *Content) IsWhole() bool { return c.all }

// Whole takes all of a page for its content, less what no reader sees.
func Whole(body *html.Node) *Content { return &Content{Root: body, all: true} }

// Skip says whether a node below Root, an element or a text, is left out with
// all below it.
func (c *Content) Skip(n *html.Node) bool {
	if c.all {
		return n.Type == html.ElementNode && n != c.Root && cleanse.Hidden(n)
	}
	_, out := c.skip[n]
	return out
}

// A page whose content is empty is given whole, and so is one of minPage letters
// or more whose content has fewer than minContent.
const (
	minContent = 25
	minPage    = 200
)

// Find finds the content of a page. It marks rows of the table.
func Find(t *clean.Table, p Page) *Content { return find(t, p, isArticle) }

// find lets asArticle choose between both ways.
func find(t *clean.Table, p Page, asArticle func(*[features]float64) bool) *Content {
	f := &finder{t: t, rows: t.Rows, page: p}
	f.leaveOutOverlays()
	page := int(f.rows[0].Sum.Letters)
	roots := f.article()
	f.prune(roots, &articleCuts)
	article := f.mass(roots)
	t.Stash()
	whole := f.whole()
	figures := figures(p, article, f.mass(whole))
	if asArticle(&figures) {
		t.Unstash()
	} else {
		roots = whole
	}
	letters := int(f.letters(roots))
	if letters == 0 && page > 0 || letters < minContent && page >= minPage {
		c := Whole(t.Rows[0].Node)
		c.Type, c.Letters, c.Hidden = typeOf(&figures), page, t.Hidden
		return c
	}
	c := f.content(roots)
	c.Letters, c.Revealed = letters, t.Revealed
	c.Type, c.Confidence = typeOf(&figures), confidence(&figures)
	return c
}

// mass adds up what the roots hold.
func (f *finder) mass(roots []int32) clean.Mass {
	var m clean.Mass
	for _, r := range roots {
		m.Add(&f.rows[r].Sum)
	}
	return m
}

// content names the nodes that are left out.
func (f *finder) content(roots []int32) *Content {
	c := &Content{Hidden: f.t.Hidden, skip: map[*html.Node]struct{}{}}
	top := roots[0]
	if len(roots) > 1 {
		top = f.rows[top].Parent
		f.onlyRoots(top, roots)
	} else if f.rows[top].Is(clean.Run) {
		top = f.rows[top].Parent
	}
	c.Root = f.rows[top].Node
	for i := top; i < f.rows[top].End; i++ {
		r := &f.rows[i]
		if r.Is(clean.Out | clean.Hidden | clean.Overlay) {
			c.leaveOut(r)
			i = r.End - 1
		}
	}
	return c
}

// onlyRoots leaves out the children of p that are no roots.
func (f *finder) onlyRoots(p int32, roots []int32) {
	for k := p + 1; k < f.rows[p].End; k = f.rows[k].End {
		if len(roots) > 0 && roots[0] == k {
			roots = roots[1:]
			continue
		}
		f.rows[k].Flags |= clean.Out
	}
}

// leaveOut names the nodes of a row.
func (c *Content) leaveOut(r *clean.Row) {
	if !r.Is(clean.Run) {
		c.skip[r.Node] = struct{}{}
		return
	}
	for n := r.Node; n != nil && (n.Type != html.ElementNode || clean.IsPhrasing(n)); n = n.NextSibling {
		c.skip[n] = struct{}{}
	}
}
