package extract

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
)

// unseen is what no reader of the page sees.
type unseen struct {
	letters int
	// parts are the elements that views are made of, such as links and headings,
	// that are hidden or stand in a hidden element.
	parts map[*html.Node]struct{}
	// revealed is a hidden element that is read, because it holds nearly all of
	// the page.
	revealed *html.Node
}

// Unseen is how many letters of the page no reader sees. None of them is in any
// view.
func (d *Document) Unseen() int { return d.unseen().letters }

func (d *Document) unseen() *unseen {
	if d.hidden != nil {
		return d.hidden
	}
	largest := &largestHidden{}
	d.hidden = &unseen{}
	d.hidden.walk(d.body, largest)
	// Whether a page waits for its scripts is decided with its content; a large
	// page is read without that.
	if largest.letters > 0 && !d.large() && d.Content().Revealed {
		d.hidden = &unseen{revealed: largest.node}
		d.hidden.walk(d.body, &largestHidden{})
	}
	return d.hidden
}

type largestHidden struct {
	node    *html.Node
	letters int
}

func (u *unseen) walk(n *html.Node, largest *largestHidden) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode || clean.IsUnread(c):
		case u.hides(c):
			letters := int(clean.HiddenLetters(c))
			u.letters += letters
			if letters > largest.letters {
				largest.node, largest.letters = c, letters
			}
			u.addParts(c)
		default:
			u.walk(c, largest)
		}
	}
}

// hides says whether an element itself is hidden.
func (u *unseen) hides(n *html.Node) bool {
	return n.Type == html.ElementNode && n != u.revealed && cleanse.Hidden(n)
}

// addParts remembers the parts from n on.
func (u *unseen) addParts(n *html.Node) {
	if isPart(n.DataAtom) {
		if u.parts == nil {
			u.parts = map[*html.Node]struct{}{}
		}
		u.parts[n] = struct{}{}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			u.addParts(c)
		}
	}
}

func isPart(a atom.Atom) bool {
	switch a {
	case atom.A, atom.Area, atom.Img, atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// has says whether a part is not seen.
func (u *unseen) has(part *html.Node) bool {
	_, hidden := u.parts[part]
	return hidden
}
