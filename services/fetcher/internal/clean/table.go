package clean

import (
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Flag is a fact about an element.
type Flag uint32

// Facts that the first walk finds.
const (
	// Unread is no text of the page: scripts, drawings, controls.
	Unread Flag = 1 << iota
	// Hidden is not seen by a reader of the page.
	Hidden
	// Frame holds the site rather than the page: nav, footer, aside.
	Frame
	// Run is no element but a run of text and inline elements in a div, which
	// counts as a paragraph.
	Run
	// Para is a div that holds nothing but such a run or one paragraph, and so
	// is one.
	Para
	// Block has a block of its own in the page.
	Block
	// InTable is below a table, InCode below code.
	InTable
	InCode
	// InLink is below a link, or one.
	InLink
	// Unlikely is what the role attribute names as no content.
	Unlikely
	// DataTable is a table that holds data rather than a layout.
	DataTable
	// HashLink is a link within the page.
	HashLink
	// Out is left out, with what is below it.
	Out
	// Overlay lies over the page: a dialog, a question for consent.
	Overlay
	// stashed is Out of a way that was set aside.
	stashed
	// Main is the main landmark.
	Main
	// Author is marked as who wrote the page.
	Author
	// HasBlock holds an element that is a block of its own.
	HasBlock
)

// Gone are the flags of a row that has no text of the page, nor has any below
// it.
const Gone = Out | Unread | Hidden | Overlay

// Row is what is known of one element, or run of inline content.
type Row struct {
	Node   *html.Node // of a Run the first node, which may be a text
	Parent int32      // row of the parent; -1 for the root
	End    int32      // the row after the last one below this one
	Tag    atom.Atom
	Flags  Flag
	Class  Hint // of the class attribute
	ID     Hint // of the id attribute
	Own    Text // of the text nodes right below
	Sum    Mass // of all below that is not out; see Table.Measure
	Sig    uint32
	Score  float32
	Scored bool
}

// Hints are those of class and id.
func (r *Row) Hints() Hint { return r.Class | r.ID }

// Is says whether a row has any of the flags.
func (r *Row) Is(f Flag) bool { return r.Flags&f != 0 }

// Table has a row for each element below and with the body, in the order of
// the page.
type Table struct {
	Rows   []Row
	Hidden int // letters left out because they are hidden
	// Revealed says that a hidden element is read, because it holds nearly all
	// of the page.
	Revealed bool
}

var tables = sync.Pool{New: func() any { return new(Table) }}

// maxPooled is the most rows that a table keeps for the next page.
const maxPooled = 20_000

// Build reads the elements from body on. Free gives the table back.
//
// A page that waits for scripts is read as they would show it: from its noscript
// elements, where one says more than all the rest (what they hold takes their
// place in the tree), or from a hidden element that holds nearly all of the
// page.
func Build(body *html.Node) *Table {
	t := tables.Get().(*Table)
	b := builder{t: t, hints: hintsOf()}
	b.build(body)
	seen := t.plainLetters()
	if b.noscript > max(minNoscript, seen/2) {
		spliceNoscripts(body)
		b.build(body)
	} else if b.hidden > max(minRevealed, revealedShare*seen) && holdsContent(b.hiddenNode) {
		b.revealed = b.hiddenNode
		b.build(body)
		t.Revealed = true
	}
	return t
}

const (
	// minNoscript is how many letters a noscript element has that is read.
	minNoscript = 400
	// minRevealed is how many letters a hidden element has that is read, and
	// revealedShare how many times more than are seen. A text that is hidden
	// from readers of a page that has one is never read.
	minRevealed   = 1000
	revealedShare = 4
)

// spliceNoscripts puts what noscript elements hold into their place.
func spliceNoscripts(body *html.Node) {
	var found []*html.Node
	for n := range body.Descendants() {
		if n.DataAtom == atom.Noscript {
			found = append(found, n)
		}
	}
	for _, n := range found {
		for c := n.FirstChild; c != nil; c = n.FirstChild {
			n.RemoveChild(c)
			n.Parent.InsertBefore(c, n)
		}
		n.Parent.RemoveChild(n)
	}
}

// holdsContent says whether an element holds what pages have their content in.
func holdsContent(n *html.Node) bool {
	for d := range n.Descendants() {
		switch d.DataAtom {
		case atom.Main, atom.Article, atom.H1:
			return true
		}
	}
	return false
}

// plainLetters counts the letters that a reader sees, those in links left out.
func (t *Table) plainLetters() int32 {
	var n int32
	for i := range t.Rows {
		if !t.Rows[i].Is(InLink) {
			n += t.Rows[i].Own.Letters
		}
	}
	return n
}

// Free lets the table be used for another page; its rows must not be read any
// more.
func (t *Table) Free() {
	if cap(t.Rows) > maxPooled {
		return
	}
	clear(t.Rows) // nodes would keep their page alive
	tables.Put(t)
}

type builder struct {
	t          *Table
	hints      *matcher
	noscript   int32 // letters in the largest noscript element
	hidden     int32 // letters in the largest hidden element
	hiddenNode *html.Node
	revealed   *html.Node // a hidden element that is read
}

func (b *builder) build(body *html.Node) {
	b.t.Rows, b.t.Hidden, b.t.Revealed = b.t.Rows[:0], 0, false
	b.element(body, -1, 0)
}

// element adds n and what is below it; inherited are the flags of the parent
// that hold below it too.
func (b *builder) element(n *html.Node, parent int32, inherited Flag) {
	at := int32(len(b.t.Rows))
	b.t.Rows = append(b.t.Rows, Row{Node: n, Parent: parent, Tag: n.DataAtom, Flags: inherited})
	b.attributes(at, n)
	row := &b.t.Rows[at]
	if n == b.revealed {
		row.Flags &^= Hidden
	}
	if IsUnread(n) {
		row.Flags |= Unread
		if n.DataAtom == atom.Noscript {
			b.noscript = max(b.noscript, HiddenLetters(n))
		}
	}
	if isFrame(row.Tag) {
		row.Flags |= Frame
	}
	if IsBlock(row.Tag) {
		row.Flags |= Block
	}
	switch {
	case row.Is(Unread):
	case row.Is(Hidden) && row.Tag != atom.Body:
		letters := HiddenLetters(n)
		b.t.Hidden += int(letters)
		if letters > b.hidden {
			b.hidden, b.hiddenNode = letters, n
		}
	default:
		b.children(n, at, inherited|below(row.Tag))
	}
	b.t.Rows[at].End = int32(len(b.t.Rows))
}

// below are the flags of what stands inside such an element.
func below(tag atom.Atom) Flag {
	switch tag {
	case atom.Table:
		return InTable
	case atom.Code, atom.Pre:
		return InCode
	case atom.A:
		return InLink
	}
	return 0
}

// children adds what is below n. In a div, inline content between blocks is
// put into runs, as if the author had written paragraphs.
func (b *builder) children(n *html.Node, at int32, inherited Flag) {
	runs := n.DataAtom == atom.Div
	hasBlock, run, runCount, others, paras := false, int32(-1), 0, 0, 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			to := at
			if runs {
				if run < 0 {
					if isSpace(c.Data) {
						continue
					}
					run = b.openRun(c, at, inherited)
					runCount++
				}
				to = run
			}
			b.t.Rows[to].Own.add(c.Data)
		case html.ElementNode:
			inline := IsPhrasing(c)
			if runs && inline {
				if run < 0 && c.DataAtom != atom.Br {
					run = b.openRun(c, at, inherited)
					runCount++
				}
			} else if run >= 0 {
				b.t.Rows[run].End = int32(len(b.t.Rows))
				run = -1
			}
			to := at
			if run >= 0 {
				to = run
			}
			kid := int32(len(b.t.Rows))
			b.element(c, to, inherited)
			if !inline {
				others++
				if c.DataAtom == atom.P {
					paras++
				}
			}
			if k := &b.t.Rows[kid]; k.Is(HasBlock) || isWide(k.Tag) {
				hasBlock = true
			}
		}
	}
	if run >= 0 {
		b.t.Rows[run].End = int32(len(b.t.Rows))
	}
	row := &b.t.Rows[at]
	if hasBlock {
		row.Flags |= HasBlock
	}
	if runs && others == paras && runCount+paras == 1 {
		row.Flags |= Para
	}
}

func (b *builder) openRun(first *html.Node, parent int32, inherited Flag) int32 {
	b.t.Rows = append(b.t.Rows, Row{Node: first, Parent: parent, Tag: atom.P, Flags: inherited | Run})
	return int32(len(b.t.Rows) - 1)
}
