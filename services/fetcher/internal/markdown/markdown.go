package markdown

import (
	"net/url"
	"strings"
	"sync"

	"golang.org/x/net/html"
)

// Options say how a tree is written. The zero value writes all of it.
type Options struct {
	// Base is what relative addresses are relative to. Without it, links with a
	// relative address become their text, and such images are left out.
	Base *url.URL
	// Skip names elements and texts to leave out with all that is in them; nil
	// names none. It is asked once for each.
	Skip func(*html.Node) bool
}

// Report tells what could not be written whole.
type Report struct {
	// Addresses is how many links and images lost their address, because it is
	// longer than 4,096 bytes or all addresses together are longer than 8 MiB.
	// Their text is written.
	Addresses int
}

// Write appends the Markdown of all that is below root, and of root itself, to
// b. The text ends without a line break. Nothing here fails; lists and quotes
// that nest more than 24 deep are written as if they nested 24 deep.
func Write(b *strings.Builder, root *html.Node, o Options) Report {
	w := writers.Get().(*writer)
	w.o = o
	w.node(root)
	w.finish()
	b.Write(w.out)
	report := w.report
	w.release()
	return report
}

// keptBuffer is the largest buffer that is kept for the next page, in bytes.
const keptBuffer = 1 << 20

var writers = sync.Pool{New: func() any { return new(writer) }}

// release gives the writer back, without what it knew of the page.
func (w *writer) release() {
	if cap(w.out) > keptBuffer || cap(w.code) > keptBuffer || cap(w.cells) > keptBuffer {
		return
	}
	clear(w.spans[:cap(w.spans)])
	clear(w.closers[:cap(w.closers)])
	*w = writer{out: w.out[:0], code: w.code[:0], cells: w.cells[:0], spans: w.spans[:0], closers: w.closers[:0], boxes: w.boxes[:0]}
	writers.Put(w)
}

// A writer holds one text being written.
type writer struct {
	o      Options
	report Report
	out    []byte
	// boxes are the open lists, quotes and notes, which begin each line.
	boxes []box
	// gap and space are what must stand before the next visible character.
	gap   gap
	space bool
	// line is where the text of the current line begins in out.
	line int
	// spans are the open inline elements, closers those that ended and whose
	// closing mark waits for the character after it.
	spans, closers []span
	mode           mode
	// closed is where the last closing mark of an emphasis ends in out.
	closed int
	// codeEnd is where the last code span ends in out; codePlain says that its
	// fence is one backtick.
	codeEnd   int
	codePlain bool
	// imageEnd is where the last image ends in out, imagePath its address up to
	// the question mark.
	imageEnd  int
	imagePath string
	// headMark is what begins the heading of which nothing was written yet.
	headMark string
	// cell is where the text of the current table cell begins in out.
	cell int
	// inLink is set while text is part of a link's text.
	inLink bool
	// inSummary is set while a summary is written.
	inSummary bool
	// linked is the heading that carries the link of the card around it.
	linked   *html.Node
	linkedTo string
	// barren is an element in which no formula was found: none in it is asked.
	barren    *html.Node
	lists     lists
	notes     notes
	addresses int    // bytes of addresses so far
	code      []byte // code being collected
	cells     []byte // the cells of the table being read
	held      []held
}

// mode is what kind of text is written.
type mode uint8

const (
	blocks  mode = iota
	heading      // one line: blocks inside are words apart
	cell         // one cell of a table: line breaks are <br>
	plain        // text of a cell without any mark: line breaks are line breaks
)

// gap is what separates the next text from the one before.
type gap uint8

const (
	none      gap = iota
	hardBreak     // the same paragraph, on a new line
	newLine       // the next block right below, as items of a list stand
	blankLine     // the next block
)

// box is a block around others, which begins each of their lines.
type box struct {
	first, rest string
	used        bool
}

// maxBoxes bounds what stands at the beginning of each line.
const maxBoxes = 24

// open begins a box; the caller closes it when the result is true.
func (w *writer) open(first, rest string) bool {
	if w.mode != blocks || len(w.boxes) >= maxBoxes {
		return false
	}
	w.boxes = append(w.boxes, box{first: first, rest: rest})
	return true
}

func (w *writer) close() { w.boxes = w.boxes[:len(w.boxes)-1] }

// want asks for a gap before what comes next. The first block in a box stands
// where the box does.
func (w *writer) want(g gap) {
	w.space = false
	if k := len(w.boxes); k == 0 || w.boxes[k-1].used || w.mode != blocks {
		w.gap = max(w.gap, g)
	}
}

// begin makes out ready for a visible character.
func (w *writer) begin(r rune) {
	switch {
	case w.mode == plain || w.mode == cell:
		w.beginCell(r)
	case w.mode == heading && w.headMark == "":
		w.space = w.space || w.gap > none
		w.gap = none
		w.beginWord(r)
	case len(w.out) == 0:
		w.gap, w.space = none, false
		w.prefix()
		w.openSpans(r)
	case w.gap > none:
		w.beginLine(r)
	default:
		w.beginWord(r)
	}
}

// beginBlock makes out ready for a block that no inline element reaches into.
func (w *writer) beginBlock() {
	w.closeSpans()
	spans := w.spans
	w.spans = nil
	w.begin('x')
	w.spans = spans
}

func (w *writer) beginLine(r rune) {
	if w.gap == hardBreak {
		w.settle('\n')
		w.out = append(w.out, "  "...)
	} else {
		w.closeSpans()
	}
	w.out = append(w.out, '\n')
	if w.gap == blankLine {
		w.blankPrefix()
		w.out = append(w.out, '\n')
	}
	w.gap, w.space = none, false
	w.prefix()
	w.openSpans(r)
}

func (w *writer) beginWord(r rune) {
	if w.space {
		w.settle(' ')
		w.space = false
		w.out = append(w.out, ' ')
	} else {
		w.join()
		w.settle(r)
	}
	w.openSpans(r)
}

func (w *writer) beginCell(r rune) {
	switch {
	case len(w.out) == w.cell:
		w.gap, w.space = none, false
	case w.gap > none && w.mode == plain:
		w.out = append(w.out, '\n')
		w.gap, w.space = none, false
	case w.gap > none:
		w.closeSpans()
		w.out = append(w.out, "<br>"...)
		w.gap, w.space = none, false
	default:
		w.beginWord(r)
		return
	}
	w.openSpans(r)
}

// prefix begins a line.
func (w *writer) prefix() {
	for i := range w.boxes {
		b := &w.boxes[i]
		if b.used {
			w.out = append(w.out, b.rest...)
		} else {
			w.out = append(w.out, b.first...)
			b.used = true
		}
	}
	w.out = append(w.out, w.headMark...)
	w.headMark = ""
	w.line = len(w.out)
}

// blankPrefix writes what an empty line inside the boxes has.
func (w *writer) blankPrefix() {
	at := len(w.out)
	for i := range w.boxes {
		if !w.boxes[i].used {
			break
		}
		w.out = append(w.out, w.boxes[i].rest...)
	}
	for len(w.out) > at && w.out[len(w.out)-1] == ' ' {
		w.out = w.out[:len(w.out)-1]
	}
}

// finish ends the text.
func (w *writer) finish() {
	w.closeSpans()
	w.gap, w.space = none, false
}
