package markdown

import (
	"unicode"
	"unicode/utf8"
)

// span is an inline element: emphasis, a link, or a tag that stays a tag.
type span struct {
	open, shut string
	// emphasis marks are read as such only where the characters around them
	// allow it (CommonMark, "left-flanking delimiter run").
	emphasis bool
	// link spans are not opened again after a block ended in them.
	link bool
	// at is where the opening mark stands in out.
	at    int
	state spanState
}

type spanState uint8

const (
	waiting spanState = iota // nothing visible came yet
	opened
	suppressed // its marks would be read as text
)

var (
	strong = span{open: "**", shut: "**", emphasis: true}
	em     = span{open: "*", shut: "*", emphasis: true}
	strike = span{open: "~~", shut: "~~", emphasis: true}
)

// push begins an inline element; its mark waits for something visible. It is
// false where marks are not written or an outer element has the same.
func (w *writer) push(s span) bool {
	if w.mode == plain || w.mode == heading && s.emphasis && s.open != "~~" {
		return false
	}
	if !s.link && w.within(s.open) {
		return false
	}
	w.spans = append(w.spans, s)
	return true
}

// within says whether an inline element with the mark is open.
func (w *writer) within(mark string) bool {
	for i := range w.spans {
		if w.spans[i].open == mark {
			return true
		}
	}
	return false
}

// pop ends the innermost inline element and says whether it had been opened.
func (w *writer) pop() bool {
	s := w.spans[len(w.spans)-1]
	w.spans = w.spans[:len(w.spans)-1]
	if s.state != opened {
		return s.link && s.state == suppressed
	}
	if s.emphasis {
		w.closers = append(w.closers, s)
		return true
	}
	w.settle(rune(s.shut[0]))
	w.out = append(w.out, s.shut...)
	return true
}

// openSpans writes the opening marks of those elements that have none yet,
// before the character r.
func (w *writer) openSpans(r rune) {
	for i := range w.spans {
		s := &w.spans[i]
		if s.state != waiting {
			continue
		}
		// A mark that touches the end of another would make one mark of both.
		if s.emphasis && (w.closed > 0 && w.closed == len(w.out) || !w.opens(i, r)) {
			s.state = suppressed
			continue
		}
		if s.link {
			w.guardBang()
		}
		s.state, s.at = opened, len(w.out)
		w.out = append(w.out, s.open...)
	}
}

// opens says whether the mark of span i would be read as opening before r.
// Between them there may be marks that open with it.
func (w *writer) opens(i int, r rune) bool {
	prev := w.before()
	mark := w.spans[i].open[0]
	if mark == '~' && w.last() == '~' || w.codeEnd > 0 && w.codeEnd == len(w.out) {
		return false // were the mark to go, what touches it would be joined
	}
	if mark == '*' && canClose(prev, r) && w.emphasized(i) {
		return false // it could also end the emphasis around it
	}
	for _, s := range w.spans[i+1:] {
		if s.state != waiting {
			continue
		}
		if !s.emphasis {
			if s.link && prev == '!' {
				return false // were the mark to go, the link would be an image
			}
			return canOpen(prev, rune(s.open[0]))
		}
		if s.open[0] != mark && !canOpen(prev, rune(s.open[0])) {
			return false
		}
	}
	return canOpen(prev, r) && (prev != '!' || r != '[')
}

// emphasized says whether span i is inside an emphasis that is open.
func (w *writer) emphasized(i int) bool {
	for _, s := range w.spans[:i] {
		if s.state == opened && s.open[0] == '*' {
			return true
		}
	}
	return false
}

// settle writes the closing marks that wait, now that the character after them
// is known. Where a mark would not be read as closing, the emphasis goes and
// the words stay.
func (w *writer) settle(next rune) {
	if len(w.closers) == 0 {
		return
	}
	prev, run := w.last(), byte(0)
	for _, s := range w.closers {
		if run != s.shut[0] { // marks of one kind make one run
			prev, run = w.last(), s.shut[0]
		}
		if canClose(prev, next) && (prev != '~' || run != '~') { // readers differ on ~ beside ~
			w.out = append(w.out, s.shut...)
			w.closed = len(w.out)
			continue
		}
		w.out = append(w.out[:s.at], w.out[s.at+len(s.open):]...)
	}
	w.closers = w.closers[:0]
}

// join makes one of two equal emphases that touch: <b>a</b><b>b</b>.
func (w *writer) join() {
	if len(w.closers) != 1 {
		return
	}
	for i := range w.spans {
		s := &w.spans[i]
		if s.state != waiting {
			continue
		}
		if s.open == w.closers[0].open {
			s.state, s.at = opened, w.closers[0].at
			w.closers = w.closers[:0]
		}
		return
	}
}

// closeSpans ends all inline elements at the end of a block. They begin again
// in the next one, but links do not.
func (w *writer) closeSpans() {
	w.settle('\n')
	for i := len(w.spans) - 1; i >= 0; i-- {
		s := &w.spans[i]
		if s.state == suppressed && !s.link {
			s.state = waiting
		}
		if s.state != opened {
			continue
		}
		s.state = waiting
		if s.emphasis {
			w.closers = append(w.closers, *s)
			continue
		}
		w.settle(rune(s.shut[0]))
		w.out = append(w.out, s.shut...)
		if s.link {
			s.state = suppressed
			w.inLink = false
		}
	}
	w.settle('\n')
}

// last is the last character written, a line break where there is none.
func (w *writer) last() rune {
	if len(w.out) == 0 || len(w.out) == w.line || w.mode >= cell && len(w.out) == w.cell {
		return '\n'
	}
	r, _ := utf8.DecodeLastRune(w.out)
	return r
}

// before is the character before the run of marks that opens now.
func (w *writer) before() rune {
	r := w.last()
	if r != '*' && r != '~' {
		return r
	}
	for i := len(w.spans) - 1; i >= 0; i-- {
		if s := &w.spans[i]; s.state == opened && s.at+len(s.open) == len(w.out) {
			if s.at == 0 || s.at <= w.line {
				return '\n'
			}
			r, _ := utf8.DecodeLastRune(w.out[:s.at])
			return r
		}
	}
	return 'x'
}

func canOpen(prev, next rune) bool {
	return !isSpace(next) && (!isPunct(next) || isSpace(prev) || isPunct(prev))
}

func canClose(prev, next rune) bool {
	return !isSpace(prev) && (!isPunct(prev) || isSpace(next) || isPunct(next))
}

func isSpace(r rune) bool { return r == '\n' || r == ' ' || unicode.IsSpace(r) }

func isPunct(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x7f
	}
	return unicode.IsPunct(r) || unicode.IsSymbol(r)
}
