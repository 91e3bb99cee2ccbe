package markdown

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// codeBlock writes what is in n as code: lines, indentation and empty lines as
// they are shown, without the numbers in the margin.
func (w *writer) codeBlock(n *html.Node) {
	start := len(w.code)
	c := codeText{w: w, start: start}
	c.children(n)
	w.writeCode(start, language(n))
}

// writeCode writes the code that was collected from start on as a fenced
// block, and forgets it.
func (w *writer) writeCode(start int, lang string) {
	code := trimCode(w.code[start:])
	defer func() { w.code = w.code[:start] }()
	if len(code) == 0 {
		return
	}
	switch w.mode {
	case plain:
		w.want(newLine)
		w.begin('x')
		w.out = append(w.out, code...)
		w.want(newLine)
	case cell, heading:
		w.codeLines(code)
	default:
		w.fence(code, lang)
	}
}

// fence writes a fenced block. The fence is longer than any in the code.
func (w *writer) fence(code []byte, lang string) {
	w.want(blankLine)
	w.beginBlock()
	ticks := max(3, longestRun(code)+1)
	for range ticks {
		w.out = append(w.out, '`')
	}
	w.out = append(w.out, lang...)
	for line := range bytes.SplitSeq(code, []byte{'\n'}) {
		w.out = append(w.out, '\n')
		if len(line) == 0 {
			w.blankPrefix()
			continue
		}
		w.prefix()
		w.out = append(w.out, line...)
	}
	w.out = append(w.out, '\n')
	w.prefix()
	for range ticks {
		w.out = append(w.out, '`')
	}
	w.want(blankLine)
}

// codeLines writes code where there is room for one line only: each line as a
// code span.
func (w *writer) codeLines(code []byte) {
	w.want(newLine)
	for line := range bytes.SplitSeq(code, []byte{'\n'}) {
		if len(bytes.TrimSpace(line)) > 0 {
			w.span(line)
		}
		w.want(newLine)
	}
}

// span writes one code span. One that touches the last becomes part of it, for
// two would be read as neither.
func (w *writer) span(code []byte) {
	w.begin('`')
	ticks := 1
	if bytes.IndexByte(code, '`') >= 0 {
		ticks = longestRun(code) + 1
	}
	first, last := code[0], code[len(code)-1]
	padded := first == '`' || last == '`' || first == ' ' && last == ' '
	if w.codeEnd == len(w.out) && w.codeEnd > 0 {
		if ticks > 1 || !w.codePlain {
			w.out = append(w.out, ' ')
		} else {
			w.out = w.out[:len(w.out)-1]
			w.codeBytes(code)
			w.fenceSpan(1)
			return
		}
	}
	w.fenceSpan(ticks)
	if padded {
		w.out = append(w.out, ' ')
	}
	w.codeBytes(code)
	if padded {
		w.out = append(w.out, ' ')
	}
	w.fenceSpan(ticks)
	w.codePlain = ticks == 1 && !padded
}

func (w *writer) fenceSpan(ticks int) {
	for range ticks {
		w.out = append(w.out, '`')
	}
	w.codeEnd = len(w.out)
}

func (w *writer) codeBytes(code []byte) {
	for _, c := range code {
		if c == '|' && w.mode == cell {
			w.out = append(w.out, '\\')
		}
		w.out = append(w.out, c)
	}
}

// longestRun is how many backticks stand together at most.
func longestRun(code []byte) int {
	longest, run := 0, 0
	for _, c := range code {
		if c == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

// codeSpan writes code in a line of text; on lines of its own when it has any.
func (w *writer) codeSpan(n *html.Node) {
	if w.mode == plain {
		w.children(n)
		return
	}
	if n.DataAtom == atom.Code && w.mode == blocks && !w.inLink && holds(n, breaksCode) {
		w.codeBlock(n)
		return
	}
	if a := soleLink(n); a != nil && !w.inLink && w.mode != heading {
		if href := attr(a, "href"); href != "" && href[0] != '#' {
			if to := w.address(href); to != "" {
				w.push(span{open: "[", shut: "](" + to + ")", link: true})
				w.inLink = true
				w.foldedSpan(a)
				w.pop()
				w.inLink = false
				return
			}
		}
	}
	w.foldedSpan(n)
}

func breaksCode(n *html.Node) bool {
	return n.DataAtom == atom.Br || n.DataAtom == atom.Pre || isBlock(n)
}

// soleLink is the link that holds all of an element's text.
func soleLink(n *html.Node) *html.Node {
	var a *html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) == "":
		case c.Type == html.ElementNode && c.DataAtom == atom.A && a == nil:
			a = c
		default:
			return nil
		}
	}
	return a
}

// foldedSpan writes the text of n as a code span, its white space folded.
func (w *writer) foldedSpan(n *html.Node) {
	start := len(w.code)
	c := codeText{w: w, start: start}
	c.children(n)
	raw := w.code[start:]
	lead := len(raw) > 0 && raw[0] <= ' '
	trail := len(raw) > 1 && raw[len(raw)-1] <= ' '
	out := raw[:0]
	for i, b := range raw {
		if b > ' ' {
			out = append(out, b)
		} else if len(out) > 0 && i+1 < len(raw) && raw[i+1] > ' ' {
			out = append(out, ' ')
		}
	}
	if len(out) > 0 {
		w.space = w.space || lead
		if w.inLink && bytes.IndexByte(out, ']') >= 0 {
			w.text(string(out)) // a bracket in code would end the link's text for some readers
		} else {
			w.span(out)
		}
		w.space = trail
	} else if lead {
		w.space = true
	}
	w.code = w.code[:start]
}

// trimCode takes off the empty lines around code and the white space behind it.
func trimCode(code []byte) []byte {
	code = bytes.TrimRight(code, " \t\n\r")
	for {
		i := bytes.IndexByte(code, '\n')
		if i < 0 || len(bytes.TrimSpace(code[:i])) > 0 {
			return code
		}
		code = code[i+1:]
	}
}

// codeText collects the text of code in the writer's scratch.
type codeText struct {
	w     *writer
	start int
	// broken says that the next text begins a line.
	broken bool
}

func (c *codeText) children(n *html.Node) {
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		switch k.Type {
		case html.TextNode:
			if !c.w.skips(k) {
				c.text(k.Data)
			}
		case html.ElementNode:
			if !c.w.skips(k) {
				c.element(k)
			}
		}
	}
}

func (c *codeText) element(n *html.Node) {
	switch n.DataAtom {
	case atom.Br:
		if c.broken {
			c.broken = false
		}
		c.w.code = append(c.w.code, '\n')
		return
	case atom.Script, atom.Style, atom.Button, atom.Template, atom.Svg, atom.Textarea, atom.Select, atom.Input, atom.Noscript:
		return
	}
	if hasAttrs(n) && isGutter(n) {
		return
	}
	if !c.breaks(n) {
		c.children(n)
		return
	}
	c.breakLine()
	before := len(c.w.code)
	c.children(n)
	if len(c.w.code) == before || len(bytes.Trim(c.w.code[before:], " \t")) == 0 { // an empty line
		c.w.code = append(c.w.code[:before], '\n')
		return
	}
	if c.w.code[len(c.w.code)-1] != '\n' {
		c.broken = true
	}
}

// breaks says whether an element is shown on lines of its own.
func (c *codeText) breaks(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Div, atom.Li, atom.P, atom.Tr:
		return true
	case atom.Span, atom.Code:
		return hasAttrs(n) && isLine(n) && touchesLine(n)
	}
	return false
}

// isLine tells an element that holds one line of code.
func isLine(n *html.Node) bool {
	return hasToken(attr(n, "class"), "line", "code-line", "token-line", "view-line", "cm-line", "CodeMirror-line", "hljs-line")
}

// touchesLine says whether another line stands right beside one, without the
// line break that most pages have between them.
func touchesLine(n *html.Node) bool {
	for _, s := range [...]*html.Node{n.PrevSibling, n.NextSibling} {
		if s != nil && s.Type == html.ElementNode && isLine(s) {
			return true
		}
	}
	return false
}

// breakLine makes the next text begin a line.
func (c *codeText) breakLine() {
	code := c.w.code
	if len(code) > c.start && code[len(code)-1] != '\n' || c.broken {
		c.w.code = append(code, '\n')
	}
	c.broken = false
}

func (c *codeText) text(s string) {
	if c.broken {
		if strings.TrimSpace(s) == "" {
			if strings.IndexByte(s, '\n') >= 0 {
				c.w.code = append(c.w.code, s...)
				c.broken = false
			}
			return
		}
		c.breakLine()
	}
	code := c.w.code
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b == '\r':
			if i+1 == len(s) || s[i+1] != '\n' {
				code = append(code, '\n')
			}
		case b == 0xc2 && i+1 < len(s) && s[i+1] == 0xa0:
			code = append(code, ' ')
			i++
		case b == 0xef && strings.HasPrefix(s[i:], "\ufeff"), b == 0xe2 && strings.HasPrefix(s[i:], "\u200b"):
			i += 2
		default:
			code = append(code, b)
		}
	}
	c.w.code = code
}
