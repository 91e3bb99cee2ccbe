package clean

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// cjkWeight is how many letters a CJK character counts: a word of two of them
// says about what an English word of five letters says (mozilla/readability#381).
const cjkWeight = 2

// Text is the size of a text.
type Text struct {
	Letters int32 // characters, runs of white space as one, CJK by weight
	Commas  int32 // commas; of CJK scripts also the full stops
	Prices  int32 // signs of currencies
}

func (t *Text) add(s string) {
	letters, commas, prices, space := int32(0), int32(0), int32(0), true
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			i++
			switch {
			case c > ' ':
				letters++
				space = false
				switch c {
				case ',':
					commas++
				case '$':
					prices++
				}
			case !space:
				letters++
				space = true
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case unicode.IsSpace(r):
			if !space {
				letters++
				space = true
			}
			continue
		case r >= 0x2e80 && isCJK(r):
			letters += cjkWeight
		default:
			letters++
		}
		space = false
		if isComma(r) {
			commas++
		} else if isCurrency(r) {
			prices++
		}
	}
	t.Letters += letters
	t.Commas += commas
	t.Prices += prices
}

func isCurrency(r rune) bool {
	return r == '£' || r == '¥' || r == '￥' || (r >= '₠' && r <= '⃀')
}

func isComma(r rune) bool {
	switch r {
	case '，', '、', '。', '،', '﹐', '︐', '︑', '⹁', '⸴', '⸲':
		return true
	}
	return false
}

// isCJK is asked of runes from U+2E80 on.
func isCJK(r rune) bool {
	return r <= 0x9fff || (r >= 0xac00 && r <= 0xd7af) || (r >= 0xf900 && r <= 0xfaff) || (r >= 0x20000 && r <= 0x3ffff)
}

func isSpace(s string) bool {
	for _, r := range s {
		if !unicode.IsSpace(r) {
			return false
		}
	}
	return true
}

// HiddenLetters counts the text that a reader would see were n not hidden.
func HiddenLetters(n *html.Node) int32 {
	var t Text
	for c := range n.Descendants() {
		if c.Type == html.TextNode && (c.Parent == n || !IsUnread(c.Parent)) {
			t.add(c.Data)
		}
	}
	return t.Letters
}

// Mass is what all of an element, less what is left out, amounts to.
type Mass struct {
	Letters int32
	Links   int32 // letters in links, those within the page at a third
	Commas  int32
	Prices  int32 // signs of currencies
	Prose   int32 // letters in paragraphs of running text
	Heads   int32 // letters in headings
	Lists   int32 // letters in lists
	Set     int32 // letters within elements that set them apart; the rest is loose
	Paras   int32 // how many paragraphs
	Items   int32 // list items
	Imgs    int32 // images
	Anchors int32 // links
	Inputs  int32 // form controls
	Embeds  int32 // frames and plug-ins
}

// Add adds another one.
func (m *Mass) Add(o *Mass) {
	m.Letters += o.Letters
	m.Links += o.Links
	m.Commas += o.Commas
	m.Prices += o.Prices
	m.Prose += o.Prose
	m.Heads += o.Heads
	m.Lists += o.Lists
	m.Set += o.Set
	m.Paras += o.Paras
	m.Items += o.Items
	m.Imgs += o.Imgs
	m.Anchors += o.Anchors
	m.Inputs += o.Inputs
	m.Embeds += o.Embeds
}

func (m *Mass) sub(o *Mass) {
	m.Letters -= o.Letters
	m.Links -= o.Links
	m.Commas -= o.Commas
	m.Prices -= o.Prices
	m.Prose -= o.Prose
	m.Heads -= o.Heads
	m.Lists -= o.Lists
	m.Set -= o.Set
	m.Paras -= o.Paras
	m.Items -= o.Items
	m.Imgs -= o.Imgs
	m.Anchors -= o.Anchors
	m.Inputs -= o.Inputs
	m.Embeds -= o.Embeds
}

// LinkDensity is the share of the letters that is in links.
func (m *Mass) LinkDensity() float64 {
	if m.Letters == 0 {
		return 0
	}
	return float64(m.Links) / float64(m.Letters)
}

// minProse is how many letters outside links a paragraph of running text has.
const minProse = 75

// Measure adds up every row from what is right below it, without what is out,
// unread or hidden. Rows come after their parents, so one pass from the end
// does it.
func (t *Table) Measure() {
	for i := range t.Rows {
		r := &t.Rows[i]
		r.Sum = Mass{Letters: r.Own.Letters, Commas: r.Own.Commas, Prices: r.Own.Prices}
	}
	for i := len(t.Rows) - 1; i >= 0; i-- {
		r := &t.Rows[i]
		if r.Is(Out) {
			continue
		}
		if r.Is(Unread | Hidden | Overlay) {
			r.Sum = Mass{}
		}
		r.count()
		if r.Parent >= 0 {
			t.Rows[r.Parent].Sum.Add(&r.Sum)
		}
	}
}

// count adds what an element is to what it holds.
func (r *Row) count() {
	m := &r.Sum
	switch r.Tag {
	case atom.A:
		m.Links = m.Letters
		if r.Is(HashLink) {
			m.Links = m.Letters * 3 / 10
		}
		m.Anchors++
	case atom.P:
		m.Paras++
	case atom.Li:
		m.Items++
		m.Set = m.Letters
	case atom.Img:
		m.Imgs++
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		m.Heads = m.Letters
	case atom.Ul, atom.Ol:
		m.Lists = m.Letters
	case atom.Span, atom.Td:
		m.Set = m.Letters
	case atom.Input, atom.Textarea, atom.Select, atom.Button:
		m.Inputs++
	case atom.Iframe, atom.Object, atom.Embed:
		m.Embeds++
	}
	if r.Tag == atom.P || isWide(r.Tag) {
		m.Set = m.Letters
	}
	if r.Is(Block|Run) && m.Prose == 0 && r.Own.Letters > 0 {
		if plain := m.Letters - m.Links; plain >= minProse && plain > m.Links {
			m.Prose = plain
		}
	}
}

// Drop leaves a row out, and takes what it amounts to from all that hold it.
func (t *Table) Drop(i int32) {
	r := &t.Rows[i]
	if r.Is(Out) {
		return
	}
	r.Flags |= Out
	for p := r.Parent; p >= 0 && !t.Rows[p].Is(Out); p = t.Rows[p].Parent {
		t.Rows[p].Sum.sub(&r.Sum)
	}
}

// Restore takes nothing as left out any more.
func (t *Table) Restore() {
	for i := range t.Rows {
		t.Rows[i].Flags &^= Out
	}
}

// Stash sets aside what is left out, so that another way may be tried. It is
// Unstash that comes back to it. The sums are not kept.
func (t *Table) Stash() {
	for i := range t.Rows {
		r := &t.Rows[i]
		r.Flags &^= stashed
		if r.Is(Out) {
			r.Flags ^= Out | stashed
		}
	}
}

// Unstash leaves out what Stash set aside, and nothing else.
func (t *Table) Unstash() {
	for i := range t.Rows {
		r := &t.Rows[i]
		r.Flags &^= Out
		if r.Is(stashed) {
			r.Flags ^= Out | stashed
		}
	}
}
