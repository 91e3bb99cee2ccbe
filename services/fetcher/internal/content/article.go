package content

import (
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
)

// finder finds the content of one page.
type finder struct {
	t      *clean.Table
	rows   []clean.Row
	page   Page
	title  map[string]bool // the words of the page's title; nil until they are needed
	strict strictness
}

// strictness of one attempt to find an article; when it finds too little, the
// next one is less strict.
type strictness struct {
	unlikely    bool // leave out at once what is named like something else
	weights     bool // count what class and id say
	conditional bool // leave out blocks that look like something else
}

var attempts = [...]strictness{
	{true, true, true},
	{false, true, true},
	{false, false, true},
	{false, false, false},
}

// enough is how many letters an article has, or another attempt is made.
const enough = 500

// article gives the rows that make up the article: siblings, in the order of
// the page. What is left out below them is marked Out.
func (f *finder) article() []int32 {
	var best []int32
	var most int32 = -1
	bestAt := 0
	for i, s := range attempts {
		roots := f.attempt(s)
		m := f.mass(roots)
		if m.Letters >= enough {
			return roots
		}
		if plain := m.Letters - m.Links; plain > most {
			best, most, bestAt = roots, plain, i
		}
	}
	if bestAt != len(attempts)-1 {
		best = f.attempt(attempts[bestAt])
	}
	return best
}

func (f *finder) letters(roots []int32) int32 {
	var n int32
	for _, r := range roots {
		n += f.rows[r].Sum.Letters
	}
	return n
}

func (f *finder) attempt(s strictness) []int32 {
	f.strict = s
	f.t.Restore()
	if s.unlikely {
		f.leaveOutUnlikely()
	}
	f.leaveOutTitle()
	f.t.Measure()
	f.score()
	roots := f.choose()
	f.tidy(roots)
	return roots
}

func (f *finder) leaveOutUnlikely() {
	for i := int32(1); i < int32(len(f.rows)); i++ {
		if r := &f.rows[i]; isUnlikely(r) {
			r.Flags |= clean.Out
			i = r.End - 1
		}
	}
}

func isUnlikely(r *clean.Row) bool {
	if r.Is(clean.Unlikely) {
		return true
	}
	h := r.Hints()
	return h&clean.HintUnlikely != 0 && h&clean.HintMaybe == 0 && !r.Is(clean.InTable|clean.InCode) && r.Tag != atom.A
}

// isPara tells a div that holds nothing but a line of text.
func isPara(r *clean.Row) bool {
	if r.Tag != atom.Div {
		return false
	}
	if r.Is(clean.Para) {
		return r.Sum.LinkDensity() < 0.25
	}
	return !r.Is(clean.HasBlock)
}

// score lets every paragraph lend its worth to what holds it.
func (f *finder) score() {
	for i := range f.rows {
		f.rows[i].Score, f.rows[i].Scored = 0, false
	}
	for i := int32(1); i < int32(len(f.rows)); i++ {
		r := &f.rows[i]
		if r.Is(clean.Gone) {
			i = r.End - 1
			continue
		}
		if r.Sum.Letters >= 25 && f.hasWorth(r) {
			f.lend(r)
		}
	}
}

// hasWorth tells rows that count as paragraphs. The one in a div that counts
// itself does not.
func (f *finder) hasWorth(r *clean.Row) bool {
	switch r.Tag {
	case atom.P:
		p := &f.rows[r.Parent]
		return !p.Is(clean.Para) || !isPara(p)
	case atom.Section, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Td, atom.Pre:
		return true
	case atom.Div:
		return isPara(r)
	}
	return false
}

// reach is how many levels up a paragraph lends its worth.
const reach = 5

func (f *finder) lend(r *clean.Row) {
	worth := 2 + float32(r.Sum.Commas) + float32(min(r.Sum.Letters/100, 3))
	at := r.Parent
	for level := range reach {
		if at <= 0 {
			return
		}
		up := &f.rows[at]
		at = up.Parent
		f.begin(up)
		switch level {
		case 0:
			up.Score += worth
		case 1:
			up.Score += worth / 2
		default:
			up.Score += worth / float32(level*3)
		}
	}
}

// begin gives a row the score that it has by itself.
func (f *finder) begin(r *clean.Row) {
	if !r.Scored {
		r.Scored = true
		r.Score = tagScore(r.Tag) + f.weight(r)
	}
}

func tagScore(a atom.Atom) float32 {
	switch a {
	case atom.Div:
		return 5
	case atom.Pre, atom.Td, atom.Blockquote:
		return 3
	case atom.Address, atom.Ol, atom.Ul, atom.Dl, atom.Dd, atom.Dt, atom.Li, atom.Form:
		return -3
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Th:
		return -5
	}
	return 0
}

// weight is what class and id say for and against a row.
func (f *finder) weight(r *clean.Row) float32 {
	if !f.strict.weights {
		return 0
	}
	var w float32
	for _, h := range [...]clean.Hint{r.Class, r.ID} {
		if h&clean.HintNegative != 0 {
			w -= 25
		}
		if h&clean.HintPositive != 0 {
			w += 25
		}
	}
	return w
}
