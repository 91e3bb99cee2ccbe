package provider

import (
	"bytes"
	"strings"
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// maxMisses is how many blocks that are no call are looked at before the rest of
// an answer is taken for text.
const maxMisses = 16

const blanks = " \t\r\n"

// maxBlanks is how many bytes of white space are held back for what may follow
// them. Without it an answer of nothing else would be looked through again with
// each piece.
const maxBlanks = 1 << 10

// listener is where the parts of a text go.
type listener struct {
	text func(piece string, kind DeltaKind) error
	call func(textCall) error
}

// prose reads a text piece by piece for what a profile finds in it: thoughts at
// its start, calls anywhere. It holds back only what may still become a mark, and
// a block until its end.
type prose struct {
	grammar grammar
	offered map[string]bool
	any     bool
	open    bool // the text begins with thoughts, whatever it begins with

	state   func(p *prose, final bool, to listener) (bool, error)
	held    []byte
	scanned int    // bytes of held that are known to hold no closing mark
	passed  []int  // closing marks in held that stand inside strings of the block
	mark    mark   // of the block being read
	lead    string // white space before it, which is text if it is no call
	said    bool   // something that is not white space was told since the last block
	called  bool   // there was a call
	misses  int    // blocks since the last call that were none
	whole   bool   // at the end: the answer was not cut
}

// newProse is nil when there is nothing to find.
func newProse(p Profile, offered map[string]bool) *prose {
	r := &prose{offered: offered, any: p.AnyTool, state: (*prose).speak}
	if p.AnyTool || len(offered) > 0 {
		r.grammar = grammars[p.TextCalls]
	}
	switch {
	case p.ThinkTags || p.ThinkOpen:
		r.state, r.open = (*prose).start, p.ThinkOpen
	case r.grammar.marks == nil:
		return nil
	}
	return r
}

// add takes the next piece.
func (p *prose) add(piece string, to listener) error {
	p.held = append(p.held, piece...)
	return p.run(false, to)
}

// end takes the end of the text. whole says that it was not cut.
func (p *prose) end(whole bool, to listener) error {
	p.whole = whole
	return p.run(true, to)
}

func (p *prose) run(final bool, to listener) error {
	for more := true; more && len(p.held) > 0; {
		var err error
		if more, err = p.state(p, final, to); err != nil {
			return err
		}
	}
	return nil
}

// start waits for thoughts before anything else.
func (p *prose) start(final bool, _ listener) (bool, error) {
	text := bytes.TrimLeft(p.held, blanks)
	switch {
	case bytes.HasPrefix(text, []byte(thinkOpen)):
		p.drop(len(p.held) - len(text) + len(thinkOpen))
		p.state = (*prose).beginThought
		return true, nil
	case !final && bytes.HasPrefix([]byte(thinkOpen), text) && len(p.held) <= maxBlanks:
		return false, nil
	}
	p.state = (*prose).speak
	if p.open {
		p.state = (*prose).beginThought
	}
	return true, nil
}

// beginThought drops the white space after the mark.
func (p *prose) beginThought(_ bool, _ listener) (bool, error) {
	p.drop(len(p.held) - len(bytes.TrimLeft(p.held, blanks)))
	if len(p.held) > 0 {
		p.state = (*prose).think
	}
	return true, nil
}

// think tells thoughts, without the white space at their end.
func (p *prose) think(final bool, to listener) (bool, error) {
	end := bytes.Index(p.held, []byte(thinkClose))
	if end >= 0 {
		thought := bytes.TrimRight(p.held[:end], blanks)
		if err := p.tell(len(thought), Reasoning, to); err != nil {
			return false, err
		}
		p.drop(end - len(thought) + len(thinkClose))
		p.state = (*prose).answer
		return true, nil
	}
	n := len(p.held)
	if !final {
		n -= begun(p.held, thinkClose)
	}
	if bare := bytes.TrimRight(p.held[:n], blanks); n-len(bare) <= maxBlanks {
		n = len(bare)
	}
	return false, p.tell(n, Reasoning, to)
}

// answer drops the white space between thoughts and answer.
func (p *prose) answer(_ bool, _ listener) (bool, error) {
	p.drop(len(p.held) - len(bytes.TrimLeft(p.held, blanks)))
	if len(p.held) > 0 {
		p.state = (*prose).speak
	}
	return true, nil
}

// speak tells text up to a block. White space that is all there is before or
// between blocks belongs to them.
func (p *prose) speak(final bool, to listener) (bool, error) {
	if p.called && !p.said {
		if dropped, open := p.stray(final); dropped || open {
			return dropped, nil
		}
	}
	at, n := p.find(), len(p.held)
	if at >= 0 {
		n = at
	} else if !final {
		for _, m := range p.grammar.marks {
			n = min(n, len(p.held)-begun(p.held, m.open))
		}
	}
	bare := len(bytes.TrimLeft(p.held[:n], blanks)) == 0
	p.lead = ""
	switch {
	case bare && !p.said && (at >= 0 || final && p.called):
		p.lead = string(p.held[:n])
		p.drop(n)
	case bare && !p.said && !final && p.grammar.marks != nil && n <= maxBlanks:
		return false, nil
	default:
		p.said = p.said || !bare
		if err := p.tell(n, Text, to); err != nil {
			return false, err
		}
	}
	if at >= 0 {
		p.state, p.scanned, p.passed = (*prose).block, len(p.mark.open), nil
	}
	return at >= 0, nil
}

// stray drops a closing mark after a call: that of an opening mark that the model
// forgot. open reports whether one may have begun.
func (p *prose) stray(final bool) (dropped, open bool) {
	text := bytes.TrimLeft(p.held, blanks)
	before := len(p.held) - len(text)
	for _, m := range p.grammar.marks {
		if bytes.HasPrefix(text, []byte(m.close)) {
			p.drop(before + len(m.close))
			return true, false
		}
		open = open || !final && len(text) > 0 && before <= maxBlanks && strings.HasPrefix(m.close, string(text))
	}
	return false, open
}

// find is where the next block begins, -1 for nowhere.
func (p *prose) find() int {
	for at := 0; p.grammar.marks != nil && p.misses < maxMisses; at++ {
		i := bytes.IndexByte(p.held[at:], '<')
		if i < 0 {
			return -1
		}
		at += i
		for _, m := range p.grammar.marks {
			if bytes.HasPrefix(p.held[at:], []byte(m.open)) {
				p.mark = m
				return at
			}
		}
	}
	return -1
}

// block waits for the end of a block and makes calls of it. What is no call is
// text after all: its opening mark is told, and the rest is read again.
func (p *prose) block(final bool, to listener) (bool, error) {
	if known := p.mark.begins; known != "" {
		inside := bytes.TrimLeft(p.held[len(p.mark.open):], blanks)
		begun := bytes.HasPrefix(inside, []byte(known))
		open := !final && len(p.held)-len(inside) <= maxBlanks && strings.HasPrefix(known, string(inside[:min(len(inside), len(known))]))
		if !begun && !open {
			return true, p.noBlock(to)
		}
	}
	end := bytes.Index(p.held[p.scanned:], []byte(p.mark.close))
	if end < 0 && !final {
		p.scanned = max(p.scanned, len(p.held)-len(p.mark.close)+1)
		return false, nil
	}
	block, after := p.held[len(p.mark.open):], len(p.held)
	switch {
	case end >= 0 && len(p.passed) < maxMisses && p.inString(block[:p.scanned+end-len(p.mark.open)]):
		p.passed = append(p.passed, p.scanned+end)
		p.scanned += end + len(p.mark.close)
		return true, nil
	case end < 0 && len(p.passed) > 0: // the string was never closed
		p.scanned, end = p.passed[0], 0
	}
	switch {
	case end >= 0:
		block, after = p.held[len(p.mark.open):p.scanned+end], p.scanned+end+len(p.mark.close)
	case !p.whole || !bytes.HasSuffix(bytes.TrimRight(block, blanks), []byte(p.grammar.ends)):
		p.misses++
		return true, p.noBlock(to)
	}
	p.misses++
	calls := p.grammar.parse(string(block))
	for _, c := range calls {
		if !p.any && !p.offered[c.name] {
			calls = nil
			break
		}
	}
	if len(calls) == 0 {
		return true, p.noBlock(to)
	}
	for _, c := range calls {
		if err := to.call(c); err != nil {
			return false, err
		}
	}
	p.drop(after)
	p.misses, p.called = 0, true
	p.state, p.said = (*prose).speak, false
	return true, nil
}

// inString reports whether the end of a block of JSON is inside a string: a mark
// there is a word of the call.
func (p *prose) inString(block []byte) bool {
	if p.mark.begins != "{" {
		return false
	}
	var shape jsonShape
	shape.add(string(block))
	return shape.inString
}

func (p *prose) noBlock(to listener) error {
	p.state, p.said = (*prose).speak, true
	if p.lead != "" {
		if err := to.text(p.lead, Text); err != nil {
			return err
		}
	}
	return p.tell(len(p.mark.open), Text, to)
}

// tell passes on the first n bytes that are held.
func (p *prose) tell(n int, kind DeltaKind, to listener) error {
	if n == 0 {
		return nil
	}
	piece := string(p.held[:n])
	p.drop(n)
	return to.text(piece, kind)
}

func (p *prose) drop(n int) { p.held = p.held[n:] }

// begun is how many bytes at the end of a text may be the beginning of a mark. A
// mark begins with the only "<" that is in it.
func begun(text []byte, mark string) int {
	tail := text[max(len(text)-len(mark)+1, 0):]
	at := bytes.LastIndexByte(tail, '<')
	if at < 0 || !strings.HasPrefix(mark, string(tail[at:])) {
		return 0
	}
	return len(tail) - at
}
